package cli

import (
	"strings"
	"testing"
)

// Values that flags cannot take are refused by a sentence of ours that says what would be right, and masters that are
// not whole MiB: 1536 is not 1536 bytes.
func TestValuesRefused(t *testing.T) {
	trace := generated(t)
	const containers = "nodes=10,memory=8GiB,vcores=8,racks=2"
	for flags, want := range map[string]string{
		"--masters 1536":   `--masters: "1536": must be a whole number of MiB or GiB, such as 1536MiB`,
		"--masters 1536mb": `--masters: "1536mb": must be a whole number of MiB or GiB, such as 1536MiB`,
		"--masters 2048M":  `--masters: "2048M": must be a whole number of MiB or GiB, such as 2048MiB`,
		"--masters 2g":     `--masters: "2g": must be a whole number of MiB or GiB, such as 2GiB`,
		"--masters 1.5GB":  `--masters: "1.5GB": must be a whole number of MiB or GiB, such as 1536MiB`,
		"--masters -1GiB":  `--masters: "-1GiB": must be a whole number of MiB or GiB, such as 1536MiB`,
		"--masters 0": `--masters: "0": a master has memory: for jobs without masters leave ` +
			`the flag out`,
		"--masters 0MiB": "leave the flag out",
		"--master-start 5s": "--master-start: is about the containers of jobs' masters: say how large " +
			"these are, as in --masters 1536MiB",
		"--master-vcores 2": "--master-vcores: is about the containers of jobs' masters: say how large " +
			"these are, as in --masters 1536MiB",
		"--max-events -1": "--max-events -1: must be 0 or more",
		"--seed -1":       "--seed -1: must be a whole number, 0 or more\n",
		"--seed 1e3":      "--seed 1e3: must be a whole number, 0 or more\n",
		"--seed 99999999999999999999": "--seed 99999999999999999999: must be a whole number, 0 or more, and not " +
			"as far from 0",
		"--max-events many":  "--max-events many: must be a whole number\n",
		"--sigma much":       "--sigma much: must be a number\n",
		"--mtbf 5":           "--mtbf 5: must be a time, such as 500ms, 90s or 5m\n",
		"--read-rates 1,2,x": "--read-rates 1,2,x: must be numbers with commas between them\n",
		"--shuffle=maybe":    "--shuffle maybe: must be true or false\n",
	} {
		args := append([]string{"sim", "--trace", trace, "--cluster", containers}, strings.Fields(flags)...)
		if status, _, errs := sojourn(t, args...); status != statusUsage || !strings.Contains(errs, want) ||
			strings.Contains(errs, "strconv") ||
			strings.Contains(errs, "4096") {
			t.Errorf("%s: exit status %d, %q; want 2 and %q", flags, status, errs, want)
		}
	}
	must(t, "sim", "--trace", trace, "--cluster", containers, "--uber=false", "--masters", "1.5GiB",
		"--max-events", "0")
}
