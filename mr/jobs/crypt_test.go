package jobs

import (
	"bytes"
	"crypto/aes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// FIPS 197, appendix C.1.
func TestPortableAES(t *testing.T) {
	key, _ := hex.DecodeString("000102030405060708090a0b0c0d0e0f")
	plain, _ := hex.DecodeString("00112233445566778899aabbccddeeff")
	var got [16]byte
	newPortableAES([16]byte(key)).Encrypt(got[:], plain)
	if text := hex.EncodeToString(got[:]); text != "69c4e0d86a7b0430d8cdb78070b4c55a" {
		t.Errorf("encrypted as %s", text)
	}
}

// The examples of RFC 4493, section 4, by both implementations, and then both on random lines.
func TestCMAC(t *testing.T) {
	key, _ := hex.DecodeString("2b7e151628aed2a6abf7158809cf4f3c")
	message, _ := hex.DecodeString("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51" +
		"30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
	native, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	a, b := newCMAC(native), newCMAC(newPortableAES([16]byte(key)))
	for n, want := range map[int]string{
		0: "bb1d6929e95937287fa37d129b756746", 16: "070a16b46b4d4144f79bdd9dd04a287c",
		40: "dfa66747de9ae63030ca32611497c827", 64: "51f0bebf7e3b9d92fc49741779363cfe",
	} {
		x, y := a.tag(message[:n]), b.tag(message[:n])
		if hex.EncodeToString(x[:]) != want || x != y {
			t.Errorf("%d bytes: %x and %x, want %s", n, x, y, want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		line := make([]byte, r.IntN(100))
		for i := range line {
			line[i] = byte(r.Uint32())
		}
		if x, y := a.tag(line), b.tag(line); x != y {
			t.Fatalf("%x: tags %x and %x", line, x, y)
		}
	}
}

// refCrypt counts tags as the page says.
func refCrypt(in corpus) []string {
	key, _ := hex.DecodeString("000102030405060708090a0b0c0d0e0f")
	block, _ := aes.NewCipher(key)
	counts := map[string]int{}
	for _, line := range in.lines() {
		tag := newCMAC(block).tag([]byte(line))
		counts[hex.EncodeToString(tag[:])]++
	}
	return counted(counts)
}

// Under the policy hardware both implementations run, each on the nodes of its class, and the output is that of the
// reference. Devices that are counted bound how many tasks use them.
func TestCryptByClassOfNode(t *testing.T) {
	in := corpus{"a.txt": string(bytes.Repeat([]byte("one line\nanother one\n\n"), 20_000))}
	for _, devices := range []int64{0, 1} {
		memory, err := mr.NewMemory(enough, 4)
		if err != nil {
			t.Fatal(err)
		}
		job, err := Crypt(mr.Conf{"mapreduce.input.fileinputformat.split.maxsize": "20000",
			"mapreduce.input.fileinputformat.split.minsize": "20000"})
		if err != nil {
			t.Fatal(err)
		}
		output := filepath.Join(t.TempDir(), "out")
		slots := sched.Resources{sched.MapSlots: 1, sched.ReduceSlots: 1}
		site := mr.Site{Memory: memory, Cores: 2}
		site.Map[sched.MapSlots], site.Reduce[sched.ReduceSlots] = 1, 1
		work, err := mr.Open(mr.Order{Job: job, Input: in.write(t), Output: output, Reduces: 1}, site)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := policy.Parse("hardware:epoch=0s,spare=on")
		if err != nil {
			t.Fatal(err)
		}
		fast := slots
		fast[sched.Accelerators] = devices
		results, err := mr.Serve(t.Context(), mr.Config{
			Core:  sched.Config{Policy: p, Estimator: &model.Mean{}},
			Nodes: []sched.NodeSpec{{Class: "aes", Capacity: fast}, {Class: "plain", Capacity: slots}},
		}, []mr.Submission{{Spec: &sched.JobSpec{Name: "crypt",
			Profile: &sched.Profile{Accelerators: []string{"aes"}}}, Work: work}})
		if err != nil || results[0].Outcome != sched.OK {
			t.Fatalf("%v, %v", results, err)
		}
		for _, how := range []string{"portable", "accelerated"} {
			counted := mr.CountersOf(work)
			if n := counted.User[mr.UserCounter{Group: "Crypt", Name: "Lines tagged by " + how + " code"}]; n == 0 {
				t.Errorf("%d devices: no line was tagged by %s code: %v", devices, how, counted.User)
			}
		}
		var lines []string
		for _, part := range readParts(t, output) {
			lines = append(lines, linesOf(string(part))...)
		}
		if want := refCrypt(in); !slices.Equal(lines, want) {
			t.Errorf("%d devices: %d lines of output, want %v", devices, len(lines), want)
		}
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	}
}

// How much faster the AES instructions are, on a line of 64 bytes.
func BenchmarkCMAC(b *testing.B) {
	key := [16]byte{1}
	native, err := aes.NewCipher(key[:])
	if err != nil {
		b.Fatal(err)
	}
	line := bytes.Repeat([]byte("x"), 64)
	for _, c := range []*cmac{newCMAC(native), newCMAC(newPortableAES(key))} {
		b.Run(fmt.Sprintf("%T", c.block), func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				c.tag(line)
			}
		})
	}
}
