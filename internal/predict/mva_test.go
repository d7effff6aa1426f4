package predict

import (
	"math"
	"testing"
)

// near fails the test unless got is want within a relative tolerance, or an absolute one below 1.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s is %.15g, want %.15g", what, got, want)
	}
}

func nearAll(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		near(t, what, got[i], want[i], tolerance)
	}
}

// The demands that the thesis's table was made with: recovered from its exact column (spec 14.1).
var tableDemands = []float64{20, 60, 61, 120}

func TestSpec14_1ThesisTable(t *testing.T) {
	rows := []struct {
		jobs                   int
		exact, schweitzer, mod float64
	}{
		{1, 261, 261, 261},
		{2, 345.7547892720306, 350.0807247235834, 344.3687936473084},
		{3, 437.2496841825314, 447.00707268311027, 437.2763141446204},
		{4, 534.8833901198851, 550.1792659206093, 538.1189989673728},
		{5, 637.9181859050525, 657.9215087842349, 644.8977437118436},
		{6, 745.496078952993, 768.8651176953447, 755.7485594451655},
		{7, 856.7116398307605, 882.0290742318098, 869.2848734602655},
		{8, 970.7005749496686, 996.7480913970354, 984.5880746396457},
		{9, 1086.7091081136948, 1112.5769875539704, 1101.0744966297261},
		{10, 1204.1288555865292, 1229.215632826835, 1218.3740207639073},
		{12, 1441.4918447986586, 1464.1605031030206, 1454.5386130020652},
		{15, 1800.2959921597972, 1819.1268078490707, 1810.9929611715727},
		{20, 2400.0170269795617, 2414.1563772783884, 2407.7608381217665},
		{25, 3000.000864437056, 3011.221199692406, 3005.9771352977345},
		{30, 3600.00004053527, 3609.2890072037226, 3604.8532398054226},
		{40, 4800.000000076734, 4806.905295003596, 4803.521369589227},
		{50, 6000.000000000128, 6005.493400755124, 6002.760789036386},
		{60, 7199.999999999999, 7204.560277574555, 7202.269615730545},
		{75, 9000.0, 9003.633903617263, 9001.791023652257},
		{100, 12000.0, 12002.714494844395, 12001.324894433184},
	}
	n := Network{Demands: [][]float64{tableDemands}}
	for _, row := range rows {
		near(t, "exact", n.Exact([]int{row.jobs}).Response[0], row.exact, 1e-11)
		near(t, "Bard-Schweitzer", n.BardSchweitzer([]int{row.jobs}, 1e-7).Response[0], row.schweitzer, 1e-11)
		modified, _ := ModifiedMVA(tableDemands, row.jobs, 0.01, 1e-7)
		near(t, "modified", modified, row.mod, 1e-11)
	}
	for _, row := range []struct {
		what  string
		of    func(approximate, exact float64) float64
		other func(jobs int) float64
		at    int
		want  float64
	}{
		{"Bard-Schweitzer, difference", func(a, e float64) float64 { return math.Abs(a - e) },
			func(jobs int) float64 { return n.BardSchweitzer([]int{jobs}, 1e-7).Response[0] }, 8, 26.0475},
		{"Bard-Schweitzer, part", func(a, e float64) float64 { return math.Abs(a/e - 1) },
			func(jobs int) float64 { return n.BardSchweitzer([]int{jobs}, 1e-7).Response[0] }, 5, 0.0314},
		{"modified, difference", func(a, e float64) float64 { return math.Abs(a - e) },
			func(jobs int) float64 { r, _ := ModifiedMVA(tableDemands, jobs, 0.01, 1e-7); return r }, 9, 14.3654},
		{"modified, part", func(a, e float64) float64 { return math.Abs(a/e - 1) },
			func(jobs int) float64 { r, _ := ModifiedMVA(tableDemands, jobs, 0.01, 1e-7); return r }, 7, 0.0147},
	} {
		at, most := 0, 0.0
		for jobs := 1; jobs <= 100; jobs++ {
			if x := row.of(row.other(jobs), n.Exact([]int{jobs}).Response[0]); x > most {
				at, most = jobs, x
			}
		}
		if at != row.at || math.Abs(most-row.want) > 5e-5 {
			t.Errorf("%s: the largest is %v with %d jobs, want %v with %d", row.what, most, at, row.want, row.at)
		}
	}
	for jobs, want := range map[int][2]int{2: {12, 11}, 3: {17, 17}, 10: {28, 28}, 100: {31, 30}} {
		_, modified := ModifiedMVA(tableDemands, jobs, 0.01, 1e-7)
		if got := [2]int{n.BardSchweitzer([]int{jobs}, 1e-7).Iterations, modified}; got != want {
			t.Errorf("%d jobs took %v iterations (Bard-Schweitzer, modified), want %v", jobs, got, want)
		}
	}
	for jobs, want := range map[int]float64{2: 344.36879111650, 10: 1218.37404685421} {
		modified, _ := ModifiedMVA(tableDemands, jobs, 0.01, 1e-12)
		near(t, "the converged limit", modified, want, 1e-12)
	}
}

func TestSpec14_2ExactSingleClass(t *testing.T) {
	n := Network{Demands: [][]float64{{0.2, 0.3, 0.5}}}
	for _, row := range []struct {
		jobs int
		r, x float64
		q    []float64
	}{
		{1, 1, 1, []float64{0.2, 0.3, 0.5}},
		{2, 1.38, 1.4492753623188408, []float64{0.3478260869565, 0.5652173913043, 1.0869565217391}},
		{3, 1.782608695652174, 1.6829268292682926, []float64{0.4536585365854, 0.7902439024390, 1.7560975609756}},
		{5, 2.6470588235294117, 1.8888888888888888, []float64{0.5769423558897, 1.1185463659148, 3.3045112781955}},
	} {
		s := n.Exact([]int{row.jobs})
		near(t, "R", s.Response[0], row.r, 1e-9)
		near(t, "X", s.Throughput[0], row.x, 1e-9)
		nearAll(t, "Q", s.Queue, row.q, 1e-9)
	}
}

func TestSpec14_3TwoClasses(t *testing.T) {
	n := Network{Demands: [][]float64{{0.4, 0.3, 0.1}, {0.1, 0.2, 0.6}}}
	for _, row := range []struct {
		population     []int
		r, x, q, appro []float64
	}{
		{
			[]int{1, 1}, []float64{0.9777777777777777, 1.1}, []float64{1.0227272727272727, 0.9090909090909091},
			[]float64{0.5909090909, 0.625, 0.7840909091}, []float64{0.9882638664, 1.1199791201},
		},
		{
			[]int{2, 1}, []float64{1.3022727272727272, 1.2733333333333334},
			[]float64{1.5357766143106457, 0.7853403141361256},
			[]float64{1.1396160558, 1.0209424084, 0.8394415358}, []float64{1.3236400382, 1.3033464227},
		},
		{
			[]int{2, 2}, []float64{1.4423976608187132, 1.7218150087260036},
			[]float64{1.386580174336104, 1.161564970606122},
			[]float64{1.1469693898, 1.2108250557, 1.6422055544}, []float64{1.4661757643, 1.8019133308},
		},
		{
			[]int{3, 2}, []float64{1.786255828096493, 1.8684478371501272},
			[]float64{1.679490671387716, 1.0704071905215853},
			[]float64{1.7364837260, 1.6263788642, 1.6371374098}, []float64{1.8196822190, 1.9553740555},
		},
	} {
		s := n.Exact(row.population)
		nearAll(t, "R", s.Response, row.r, 1e-9)
		nearAll(t, "X", s.Throughput, row.x, 1e-9)
		nearAll(t, "Q", s.Queue, row.q, 1e-9)
		nearAll(t, "Bard-Schweitzer", n.BardSchweitzer(row.population, 1e-12).Response, row.appro, 1e-9)
	}
	n.Think = []float64{1, 2}
	s := n.Exact([]int{3, 2})
	nearAll(t, "R with think time", s.Response, []float64{1.2730744285015305, 1.3709286039722584}, 1e-9)
	nearAll(t, "X with think time", s.Throughput, []float64{1.3197984027200014, 0.5933083238972271}, 1e-9)
	nearAll(t, "Q with think time", s.Queue, []float64{0.9561814255, 0.8215019077, 0.7159016162}, 1e-9)
}
