package predict

import (
	"math"
	"testing"
)

func TestSpec14_13Merges(t *testing.T) {
	for files, want := range map[int]Merges{
		1: {1, 0, 1, 0}, 5: {5, 0, 5, 1}, 10: {10, 0, 10, 1}, 11: {2, 2, 10, 2}, 12: {3, 3, 10, 2}, 19: {10, 10, 10, 2},
		20: {2, 12, 10, 3}, 28: {10, 20, 10, 3}, 29: {2, 22, 10, 4}, 50: {5, 45, 10, 6}, 91: {10, 90, 10, 10},
		100: {10, 100, 10, 11},
	} {
		if got := MergeFiles(files, 10); got != want {
			t.Errorf("%d files: %+v, want %+v", files, got, want)
		}
	}
}

// caseA is case A of spec 14.13: 64 MiB of pairs of 100 bytes, all selectivities 1, no combiner.
func caseA(shared bool) *TaskProfile {
	h := DefaultSettings()
	h.SharedBuffer, h.Copiers = shared, 1
	return &TaskProfile{
		Maps: 8, Reduces: 4, Hadoop: h,
		Data: DataProfile{Split: 64 << 20, PairWidth: 100, MapBytes: 1, MapPairs: 1, CombineBytes: 1, CombinePairs: 1,
			ReduceBytes: 1, InRatio: 1, MidRatio: 1, OutRatio: 1},
		Costs: CostFactors{HDFSRead: 15, HDFSWrite: 30, LocalRead: 10, LocalWrite: 15, Net: 20, Map: 2000, Reduce: 1500,
			Partition: 100, Serialize: 200, Sort: 50, Merge: 100, RemotePart: 1},
	}
}

func TestSpec14_13CaseA(t *testing.T) {
	for _, row := range []struct {
		shared              bool
		spills              int
		spill, merge, total float64
	}{
		{false, 3, 1.5358259908094272, 1.744830464, 5.830793286809428},
		{true, 1, 1.5890085072624252, 0, 4.139145339262425},
	} {
		p := caseA(row.shared)
		m := p.MapCost()
		if m.Spills != row.spills {
			t.Errorf("%d spills, want %d", m.Spills, row.spills)
		}
		nearAll(
			t,
			"map",
			[]float64{
				m.Read.Total(),
				m.Map.Total(),
				m.Collect.Total(),
				m.Spill.Total(),
				m.Merge.Total(),
				m.Total().Total(),
			},
			[]float64{1.00663296, 1.34217728, 0.201326592, row.spill, row.merge, row.total},
			1e-12,
		)
		r := p.ReduceCost(m)
		if got, want := [...]int{r.Segments, r.MemoryMerges, r.LeftInMemory, r.DiskMerges},
			[...]int{6, 1, 2, 0}; got != want {
			t.Errorf("segments, merges in memory, left, on disk: %v, want %v", got, want)
		}
		nearAll(
			t,
			"reduce",
			[]float64{
				r.Shuffle.Total(),
				r.Sort.Total(),
				r.Reduce.Total(),
				r.Write.Total(),
				r.Shuffle.plus(r.Sort).plus(r.Reduce).plus(r.Write).Total(),
			},
			[]float64{4.294967296, 0.536870912, 3.35544320, 4.02653184, 12.213813248},
			1e-12,
		)
		demands, initial := p.Demands()
		near(t, "first time of a shuffle", initial[ShuffleTask], 0.536870912, 1e-12)
		near(t, "first time of a merge", initial[MergeTask], 7.918845952, 1e-12)
		near(t, "first time of a merge as the thesis has it", r.Sort.plus(r.Reduce).Total(), 3.892314112, 1e-12)
		if !row.shared {
			near(t, "map on cpu", demands[MapTask][CPU], 2.1398057668, 1e-10)
			near(t, "map on disk", demands[MapTask][Disk], 3.6909875200, 1e-10)
			nearAll(t, "shuffle", demands[ShuffleTask][:Wait], []float64{0.012582912, 0.18874368, 0.33554432}, 1e-12)
		}
	}
}

// Pairs of 100 bytes that fit into a spill of Hadoop 1: by their bytes and by their records.
func TestSpec14_13SpillLimits(t *testing.T) {
	h := caseA(false).Hadoop
	if data, records := h.spillLimits(100); data != 796917 || records != 262144 {
		t.Errorf("%v pairs by bytes and %v by records, want 796917 and 262144", data, records)
	}
}

// There are as many shuffle-sort subtasks as maps, and some of them run side by side (spec 16, erratum E4).
func TestSpec16ShuffleSubtasks(t *testing.T) {
	for copiers, parts := range map[int]float64{1: 1. / 8, 5: 5. / 8, 8: 1, 20: 1} {
		p := caseA(false)
		p.Hadoop.Copiers = copiers
		_, initial := p.Demands()
		near(t, "first time of a shuffle", initial[ShuffleTask], 4.294967296*parts, 1e-12)
	}
}

func TestSpec14_13CaseB(t *testing.T) {
	p := caseA(false)
	p.Maps, p.Reduces = 200, 2
	r := p.ReduceCost(p.MapCost())
	if got, want := [...]int{r.Segments, r.MemoryMerges, r.LeftInMemory, r.DiskMerges, r.Files,
		MergeFiles(r.Files, 10).Reads},
		[...]int{3, 66, 2, 5, 23, 15}; got != want {
		t.Errorf("segments, merges in memory, left, on disk, files, reads: %v, want %v", got, want)
	}
	nearAll(
		t,
		"reduce",
		[]float64{
			r.Shuffle.Total(),
			r.Sort.Total(),
			r.Reduce.Total(),
			r.Write.Total(),
			r.Shuffle.plus(r.Sort).plus(r.Reduce).plus(r.Write).Total(),
		},
		[]float64{371.380453376, 113.793291130, 167.77216, 201.326592, 854.272496506},
		1e-11,
	)
}

func TestSpec14_13CaseC(t *testing.T) {
	p := caseA(false)
	p.Hadoop.SortBuffer = 10 << 20
	m := p.MapCost()
	if m.Spills != 26 {
		t.Errorf("%d spills, want 26", m.Spills)
	}
	nearAll(t, "map", []float64{m.Spill.Total(), m.Merge.Total(), m.Total().Total()},
		[]float64{1.4312879224, 2.952790016, 6.9342147704}, 1e-10)
}

// A combiner that runs in the last pass of 26 spills too leaves less than one that runs in the spills only.
func TestCombinerInLastPass(t *testing.T) {
	p := caseA(false)
	p.Hadoop.SortBuffer = 10 << 20
	p.Data.Combines, p.Data.CombineBytes, p.Data.CombinePairs, p.Costs.Combine = true, 0.5, 0.5, 4000
	twice := p.MapCost()
	p.Hadoop.CombineFiles = 11
	once := p.MapCost()
	near(t, "bytes after one more pass", twice.OutBytes, once.OutBytes/2, 1e-12)
	near(t, "processor time of it", twice.Merge[CPU]-once.Merge[CPU], once.OutPairs*4000e-9, 1e-9)
}

func TestProfileCheck(t *testing.T) {
	p := caseA(true)
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	p.Data.PairWidth = math.NaN()
	if err := p.Check(); err == nil || err.Error() != "pair width is NaN: it must be more than 0" {
		t.Error(err)
	}
}

func TestSpec14_13HerodotouJob(t *testing.T) {
	near(t, "job", HerodotouTime(Slotted{20, 10, 8}, Slotted{6, 15, 8}), 36.25, 1e-12)
	near(t, "maps", HerodotouTime(Slotted{20, 10, 8}, Slotted{}), 25, 1e-12)
	near(t, "reduces", HerodotouTime(Slotted{0, 10, 8}, Slotted{6, 15, 8}), 11.25, 1e-12)
}

func TestSpec14_14ARIA(t *testing.T) {
	j := ARIAJob{
		Maps:         Waves{20, 10, 14},
		Reduces:      Waves{6, 8, 11},
		FirstShuffle: Waves{Mean: 3, Largest: 5},
		Shuffle:      Waves{Mean: 4, Largest: 6},
	}
	b := j.Bounds(8, 4)
	nearAll(t, "bounds", []float64{b.Low, b.High, b.Mean}, []float64{42, 70.75, 56.375}, 1e-12)
	maps, reduces := slotsFor(&j, 60)
	near(t, "map slots", maps, 5.245901639, 1e-9)
	near(t, "reduce slots", reduces, 3.147540984, 1e-9)
	if math.Ceil(maps) != 6 || math.Ceil(reduces) != 4 {
		t.Errorf("%v map and %v reduce slots, want 6 and 4", math.Ceil(maps), math.Ceil(reduces))
	}
	if maps, _ := slotsFor(&j, -2); !math.IsNaN(maps) {
		t.Errorf("a target that no number of slots reaches needs %v map slots", maps)
	}
}

// slotsFor returns the smallest product of slots, as real numbers, that bring the lower bound of the job's time to a
// target in seconds; NaN where no number of slots does.
func slotsFor(j *ARIAJob, target float64) (mapSlots, reduceSlots float64) {
	a := float64(j.Maps.Tasks) * j.Maps.Mean
	b := float64(j.Reduces.Tasks) * (j.Shuffle.Mean + j.Reduces.Mean)
	d := target - (j.FirstShuffle.Mean - j.Shuffle.Mean)
	if d <= 0 {
		return math.NaN(), math.NaN()
	}
	both := math.Sqrt(a) + math.Sqrt(b)
	return math.Sqrt(a) * both / d, math.Sqrt(b) * both / d
}
