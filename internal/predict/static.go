package predict

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// A TaskProfile says what the static cost model needs to know of a job: its data, Hadoop's settings and the costs of
// the machine (Herodotou, "Hadoop Performance Models", 2011; spec 5.2). Sizes are in bytes, ratios are compressed ÷
// uncompressed (1: not compressed), selectivities are output ÷ input.
type TaskProfile struct {
	Maps, Reduces int
	Data          DataProfile
	Hadoop        HadoopSettings
	Costs         CostFactors
}

// A DataProfile describes a job's data. Selectivities and ratios that are 0 mean 1.
type DataProfile struct {
	Split        float64 `yaml:"split"`      // bytes of one map's input
	PairWidth    float64 `yaml:"pair-width"` // bytes of one pair of it, uncompressed; 0 means 100
	MapBytes     float64 `yaml:"map-bytes"`  // selectivities of the map function
	MapPairs     float64 `yaml:"map-pairs"`
	CombineBytes float64 `yaml:"combine-bytes"` // of the combiner
	CombinePairs float64 `yaml:"combine-pairs"`
	ReduceBytes  float64 `yaml:"reduce-bytes"` // of the reduce function
	InRatio      float64 `yaml:"in-ratio"`     // of the input, of map output, of the job's output
	MidRatio     float64 `yaml:"mid-ratio"`
	OutRatio     float64 `yaml:"out-ratio"`
	Combines     bool    `yaml:"combines"`  // the job has a combiner
	InPacked     bool    `yaml:"in-packed"` // compressed: the costs of packing count
	MidPacked    bool    `yaml:"mid-packed"`
	OutPacked    bool    `yaml:"out-packed"`
}

// setDefaults fills in what is usual for what is not known (spec 5.2).
func (d *DataProfile) setDefaults() {
	if d.PairWidth == 0 {
		d.PairWidth = 100
	}
	for _, x := range []*float64{&d.MapBytes, &d.MapPairs, &d.CombineBytes, &d.CombinePairs, &d.ReduceBytes, &d.InRatio,
		&d.MidRatio, &d.OutRatio} {
		if *x == 0 {
			*x = 1
		}
	}
}

// HadoopSettings are those that the cost of a task depends on.
type HadoopSettings struct {
	SortBuffer          float64 // mapreduce.task.io.sort.mb, in bytes
	SpillPart           float64 // mapreduce.map.sort.spill.percent
	RecordPart          float64 // io.sort.record.percent of Hadoop 1
	SharedBuffer        bool    // one buffer for data and records, as in Hadoop 2
	SortFactor          int     // mapreduce.task.io.sort.factor
	CombineFiles        int     // mapreduce.map.combine.minspills
	MemoryMergeSegments int     // mapreduce.reduce.merge.inmem.threshold
	ShuffleBufferPart   float64 // mapreduce.reduce.shuffle.input.buffer.percent
	ShuffleMergePart    float64 // mapreduce.reduce.shuffle.merge.percent
	ReduceBufferPart    float64 // mapreduce.reduce.input.buffer.percent
	TaskMemory          float64 // heap of a reduce, in bytes
	Copiers             int     // mapreduce.reduce.shuffle.parallelcopies
}

// DefaultSettings are Hadoop's defaults, with the shared buffer of Hadoop 2.
func DefaultSettings() HadoopSettings {
	return HadoopSettings{
		SortBuffer: 100 << 20, SpillPart: 0.8, RecordPart: 0.05, SharedBuffer: true, SortFactor: 10, CombineFiles: 3,
		MemoryMergeSegments: 1000, ShuffleBufferPart: 0.7, ShuffleMergePart: 0.66, TaskMemory: 200 << 20, Copiers: 5,
	}
}

// CostFactors are nanoseconds a byte or, of the processor's work, a record.
type CostFactors struct {
	HDFSRead   float64 `yaml:"hdfs-read"` // a byte, as all down to OutPack
	HDFSWrite  float64 `yaml:"hdfs-write"`
	LocalRead  float64 `yaml:"local-read"`
	LocalWrite float64 `yaml:"local-write"`
	Net        float64 `yaml:"network"`
	InUnpack   float64 `yaml:"in-unpack"`
	MidUnpack  float64 `yaml:"mid-unpack"`
	MidPack    float64 `yaml:"mid-pack"`
	OutPack    float64 `yaml:"out-pack"`
	Map        float64 `yaml:"map"` // a record, as all down to Merge
	Reduce     float64 `yaml:"reduce"`
	Combine    float64 `yaml:"combine"`
	Partition  float64 `yaml:"partition"`
	Serialize  float64 `yaml:"serialize"`
	Sort       float64 `yaml:"sort"` // one level of comparisons
	Merge      float64 `yaml:"merge"`
	// of the shuffle that crosses the network; 1 where Net is a cost by shuffled byte
	RemotePart float64 `yaml:"remote-part"`
}

// A Cost is service time at each kind of centre, in seconds.
type Cost [resources]float64

// Total returns the time of a task that never waits.
func (c Cost) Total() float64 { return c[CPU] + c[Disk] + c[Net] + c[Wait] }

func (c Cost) plus(o Cost) Cost {
	for z := range c {
		c[z] += o[z]
	}
	return c
}

func (c Cost) times(x float64) Cost {
	for z := range c {
		c[z] *= x
	}
	return c
}

// MapCost is what one map costs, phase by phase.
type MapCost struct {
	Read, Map, Collect, Spill, Merge, Write Cost
	Spills                                  int
	OutBytes, OutPairs                      float64 // of its output on disk
}

// Total returns the cost of all phases.
func (m MapCost) Total() Cost {
	return m.Read.plus(m.Map).plus(m.Collect).plus(m.Spill).plus(m.Merge).plus(m.Write)
}

// ReduceCost is what one reduce costs, phase by phase.
type ReduceCost struct {
	Shuffle, Sort, Reduce, Write Cost
	Segments                     int // merged in memory at once
	MemoryMerges, LeftInMemory   int // merges of Segments while shuffling; segments still in memory after the last
	DiskMerges, Files            int // merges of files while shuffling; files of the last merge
}

// Merges is the arithmetic of merging X files with fan-in F (spec 5.2).
type Merges struct{ First, Reads, Files, Passes int }

// MergeFiles returns how many files the first pass reads, how many files intermediate passes read in all, how many
// the last pass reads, and the number of passes. It holds for files ≤ factor².
func MergeFiles(files, factor int) Merges {
	if files <= factor {
		passes := 0
		if files > 1 {
			passes = 1
		}
		return Merges{files, 0, files, passes}
	}
	first := (files-1)%(factor-1) + 1
	if first == 1 {
		first = factor
	}
	later := (files - first) / factor
	reads := first + later*factor
	return Merges{first, reads, 1 + later + files - reads, 2 + later}
}

// Check reports what of a profile is missing or out of range.
func (p *TaskProfile) Check() error {
	positive := map[string]float64{
		"split": p.Data.Split, "pair width": p.Data.PairWidth, "in ratio": p.Data.InRatio, "mid ratio": p.Data.MidRatio,
		"out ratio": p.Data.OutRatio, "sort buffer": p.Hadoop.SortBuffer, "task memory": p.Hadoop.TaskMemory,
	}
	for _, name := range slices.Sorted(maps.Keys(positive)) {
		if x := positive[name]; !(x > 0) || math.IsInf(x, 0) {
			return fmt.Errorf("%s is %v: it must be more than 0", name, x)
		}
	}
	for _, x := range []float64{p.Data.MapBytes, p.Data.MapPairs, p.Data.CombineBytes, p.Data.CombinePairs,
		p.Data.ReduceBytes} {
		if !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("a selectivity is %v: it must be finite and not negative", x)
		}
	}
	if p.Hadoop.SortFactor < 2 {
		return fmt.Errorf("sort factor is %d: it must be at least 2", p.Hadoop.SortFactor)
	}
	if p.Maps < 0 || p.Reduces < 0 {
		return fmt.Errorf("%d maps and %d reduces: neither may be negative", p.Maps, p.Reduces)
	}
	return nil
}

const nano = 1e-9

// spillLimits returns how many pairs of a width in bytes one spill of Hadoop 1 holds: by their bytes, and by their
// records. The smaller number counts.
func (h *HadoopSettings) spillLimits(width float64) (data, records float64) {
	return math.Floor(h.SortBuffer * (1 - h.RecordPart) * h.SpillPart / width),
		math.Floor(h.SortBuffer * h.RecordPart * h.SpillPart / recordBytes)
}

// MapCost returns the cost of one map (spec 5.2; the sum is the thesis's equation 4.1).
func (p *TaskProfile) MapCost() (m MapCost) {
	d, h, c := &p.Data, &p.Hadoop, &p.Costs
	inBytes := d.Split / d.InRatio
	inPairs := inBytes / d.PairWidth
	outBytes, outPairs := inBytes*d.MapBytes, inPairs*d.MapPairs
	m.Read = Cost{Disk: d.Split * c.HDFSRead * nano, CPU: when(d.InPacked, d.Split*c.InUnpack)}
	m.Map[CPU] = inPairs * c.Map * nano
	if p.Reduces == 0 {
		m.OutBytes, m.OutPairs = outBytes*d.OutRatio, outPairs
		m.Write = Cost{CPU: when(d.OutPacked, outBytes*c.OutPack), Disk: m.OutBytes * c.HDFSWrite * nano}
		return m
	}
	if outPairs <= 0 {
		return m
	}
	width := outBytes / outPairs
	var most float64 // pairs of one spill
	if h.SharedBuffer {
		most = math.Floor(h.SortBuffer * h.SpillPart / (width + recordBytes))
	} else {
		data, records := h.spillLimits(width)
		most = min(data, records)
	}
	most = min(max(most, 1), outPairs)
	spills := math.Ceil(outPairs / most)
	m.Spills = int(spills)
	filePairs := outPairs / spills * d.CombinePairs
	fileBytes := outBytes / spills * d.CombineBytes * d.MidRatio
	m.Collect[CPU] = outPairs * (c.Partition + c.Serialize) * nano
	levels := math.Log2(max(2, outPairs/spills/float64(p.Reduces)))
	m.Spill[CPU] = outPairs*levels*c.Sort*nano + when(d.Combines, outPairs*c.Combine) +
		when(d.MidPacked, spills*fileBytes/d.MidRatio*c.MidPack)
	m.Spill[Disk] = spills * fileBytes * c.LocalWrite * nano
	m.OutBytes, m.OutPairs = spills*fileBytes, spills*filePairs
	if m.Spills == 1 {
		return m
	}
	// The last pass writes less where the combiner runs in it once more.
	lessBytes, lessPairs := 1.0, 1.0
	if d.Combines && min(m.Spills, h.SortFactor) >= h.CombineFiles {
		lessBytes, lessPairs = d.CombineBytes, d.CombinePairs
		m.Merge[CPU] = spills * filePairs * c.Combine * nano
	}
	earlier := float64(MergeFiles(m.Spills, h.SortFactor).Reads)
	read, written := (earlier+spills)*fileBytes, (earlier+spills*lessBytes)*fileBytes
	m.Merge[Disk] = (read*c.LocalRead + written*c.LocalWrite) * nano
	m.Merge[CPU] += when(d.MidPacked, read*c.MidUnpack+written/d.MidRatio*c.MidPack) +
		(earlier+spills)*filePairs*c.Merge*nano
	m.OutBytes *= lessBytes
	m.OutPairs *= lessPairs
	return m
}

// recordBytes is Hadoop's accounting of one record in the sort buffer.
const recordBytes = 16

// when returns nanoseconds as seconds where a cost applies, else 0.
func when(applies bool, ns float64) float64 {
	if applies {
		return ns * nano
	}
	return 0
}

// ReduceCost returns the cost of one reduce whose maps each left what m says (spec 5.2).
func (p *TaskProfile) ReduceCost(m MapCost) (r ReduceCost) {
	d, h, c := &p.Data, &p.Hadoop, &p.Costs
	if p.Reduces == 0 || p.Maps == 0 {
		return r
	}
	factor := float64(h.SortFactor)
	segment := m.OutBytes / float64(p.Reduces)
	wide, pairs := segment/d.MidRatio, m.OutPairs/float64(p.Reduces)
	shuffled, shuffledPairs := float64(p.Maps)*segment, float64(p.Maps)*pairs
	buffer := h.ShuffleBufferPart * h.TaskMemory
	// A small segment waits in memory until enough of them are there to be merged to a file; a large one goes to disk.
	r.Segments = 1
	fileBytes, filePairs := segment, pairs
	flushed := p.Maps // files written while shuffling
	if wide < 0.25*buffer {
		r.Segments = h.segmentsInMemory(wide, buffer)
		q := float64(r.Segments)
		fileBytes, filePairs = q*segment*d.CombineBytes, q*pairs*d.CombinePairs
		r.MemoryMerges, r.LeftInMemory = p.Maps/r.Segments, p.Maps%r.Segments
		flushed = r.MemoryMerges
	}
	if n := flushed - 2*h.SortFactor + 1; n >= 0 {
		r.DiskMerges = n/h.SortFactor + 1
	}
	merged := float64(r.DiskMerges) * factor
	mergedBytes, mergedPairs := merged*fileBytes, merged*filePairs
	inMemoryPairs := float64(r.MemoryMerges*r.Segments) * pairs
	written := float64(flushed)*fileBytes + mergedBytes
	r.Shuffle = Cost{
		Net:  shuffled * c.Net * c.RemotePart * nano,
		Disk: (mergedBytes*c.LocalRead + written*c.LocalWrite) * nano,
		CPU: when(d.MidPacked, (shuffled+mergedBytes)*c.MidUnpack+written/d.MidRatio*c.MidPack) +
			inMemoryPairs*c.Merge*nano + when(d.Combines, inMemoryPairs*c.Combine) + mergedPairs*c.Merge*nano,
	}
	// Segments that the reduce function may not keep in memory are flushed: to one file while few files are on disk.
	evicted := 0
	if keep := h.ReduceBufferPart * h.TaskMemory; float64(r.LeftInMemory)*wide > keep {
		evicted = int(math.Ceil((float64(r.LeftInMemory)*wide - keep) / wide))
	}
	onDisk := r.DiskMerges + flushed - h.SortFactor*r.DiskMerges
	flushedAtEnd := evicted > 0 && onDisk < h.SortFactor
	evictedBytes, evictedPairs := float64(evicted)*segment, float64(evicted)*pairs
	r.Files = onDisk + evicted
	if flushedAtEnd {
		r.Files = onDisk + 1
	}
	bytes := mergedBytes + float64(flushed-h.SortFactor*r.DiskMerges)*fileBytes + evictedBytes
	again := 0.0 // part of the files that intermediate passes read
	if r.Files > 0 {
		again = float64(MergeFiles(r.Files, h.SortFactor).Reads) / float64(r.Files)
	}
	r.Sort[Disk] = again * bytes * (c.LocalRead + c.LocalWrite) * nano
	r.Sort[CPU] = again * shuffledPairs * c.Merge * nano
	if flushedAtEnd {
		r.Sort[Disk] += evictedBytes * c.LocalWrite * nano
		r.Sort[CPU] += evictedPairs * c.Merge * nano
	}
	reduced := shuffledPairs
	if d.Combines { // in-shuffle combining leaves fewer records
		reduced = inMemoryPairs*d.CombinePairs + shuffledPairs - inMemoryPairs
	}
	r.Reduce = Cost{Disk: bytes * c.LocalRead * nano, CPU: reduced * c.Reduce * nano}
	out := shuffled / d.MidRatio * d.ReduceBytes
	r.Write = Cost{CPU: when(d.OutPacked, out*c.OutPack), Disk: out * d.OutRatio * c.HDFSWrite * nano}
	return r
}

// segmentsInMemory returns how many segments of wide uncompressed bytes are merged in memory at once.
func (h *HadoopSettings) segmentsInMemory(wide, buffer float64) int {
	if wide <= 0 {
		return h.MemoryMergeSegments
	}
	fill := h.ShuffleMergePart * buffer / wide
	q := math.Ceil(fill)
	if q*wide > buffer {
		q = math.Floor(fill)
	}
	return int(min(max(q, 1), float64(h.MemoryMergeSegments)))
}

// Demands returns the service demands of a map, of one shuffle-sort subtask and of a merge, and the times that the
// iteration may begin with (spec 5.2, "Mapping"): a shuffle is divided among the maps, and copiers run side by side.
func (p *TaskProfile) Demands() (demands [kinds]Cost, initial [kinds]float64) {
	m := p.MapCost()
	r := p.ReduceCost(m)
	demands[MapTask], initial[MapTask] = m.Total(), m.Total().Total()
	if p.Reduces == 0 {
		return demands, initial
	}
	if p.Maps > 0 {
		demands[ShuffleTask] = r.Shuffle.times(1 / float64(p.Maps))
		initial[ShuffleTask] = r.Shuffle.Total() * float64(min(p.Hadoop.Copiers, p.Maps)) / float64(p.Maps)
	}
	demands[MergeTask] = r.Sort.plus(r.Reduce).plus(r.Write)
	initial[MergeTask] = demands[MergeTask].Total()
	return demands, initial
}
