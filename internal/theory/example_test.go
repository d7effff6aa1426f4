package theory_test

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/internal/theory"
)

// A long job and a short one that comes a second later.
func ExampleFluid() {
	jobs := []theory.FluidJob{
		{Arrival: 0, Size: 10, Estimate: 10},
		{Arrival: 1, Size: 2, Estimate: 2},
	}
	for _, d := range []theory.Discipline{theory.FIFO, theory.PS, theory.FSP} {
		done, err := theory.Fluid(d, jobs)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-4s done at %v\n", d, done)
	}
	// Output:
	// fifo done at [10 12]
	// ps   done at [12 5]
	// fsp  done at [12 3]
}

func ExampleMaxMin() {
	fmt.Println(theory.MaxMin(100, []theory.Claim{
		{Weight: 1, Max: 10},          // wants little
		{Weight: 1, Min: 50, Max: 80}, // is promised half
		{Weight: 1, Max: 100},
	}))
	// Output: [10 50 40]
}

func ExampleSlotSim() {
	slots := theory.Slots{Map: 8, Reduce: 4}
	jobs := []theory.SlotJob{
		{Maps: 10, MapTime: 4, Reduces: 2, ReduceTime: 8},
		{Maps: 4, MapTime: 2, Reduces: 4, ReduceTime: 2},
		{Maps: 2, MapTime: 6, Reduces: 4, ReduceTime: 10},
		{Maps: 24, MapTime: 6, Reduces: 6, ReduceTime: 8},
	}
	sim := theory.NewSlotSim(jobs, slots)
	fmt.Println("as given", sim.Run([]int{0, 1, 2, 3}).Makespan)
	order := theory.Johnson(theory.Flows(jobs, slots))
	fmt.Println("Johnson", order, sim.Run(order).Makespan)
	// Output:
	// as given 44
	// Johnson [1 2 3 0] 40
}
