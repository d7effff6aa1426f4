package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/policy"
)

// fixedCompletion offers words, and no files.
func fixedCompletion(words []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// fileOr offers words and files.
func fileOr(words []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveDefault
	}
}

// completeFlag makes shells offer words as values of a flag.
func completeFlag(c *cobra.Command, flag string, words ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, fixedCompletion(words))
}

// prefixCompletion offers what stands before the equals sign of a value such as nodes=4. The rest is for the user to
// type, or the name of a file.
func prefixCompletion(names ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) (list []string, how cobra.ShellCompDirective) {
		if strings.Contains(typed, "=") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		for _, name := range names {
			list = append(list, name+"=")
		}
		return list, cobra.ShellCompDirectiveNoSpace
	}
}

// policyCompletion offers the names of policies, also within a comma list or braces, and after a colon the parameters
// of the policy that stands before it.
func policyCompletion(known policy.Registry) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) (list []string, how cobra.ShellCompDirective) {
		how = cobra.ShellCompDirectiveNoFileComp
		spec := typed
		if i := strings.LastIndexByte(typed, '{'); i > strings.LastIndexByte(typed, '}') {
			spec = typed[i+1:] // braces that are still open
		}
		name, _, params := strings.Cut(spec, ":")
		if !params {
			head := strings.TrimSuffix(typed, spec[strings.LastIndexByte(spec, ',')+1:])
			for _, n := range known.Names() {
				list = append(list, head+n)
			}
			return list, how
		}
		name, _, _ = strings.Cut(name, "{")
		head := typed[:strings.LastIndexAny(typed, ":,")+1]
		for _, p := range known[name].Card.Params {
			if !strings.Contains(spec, p.Name+"=") {
				list = append(list, head+p.Name+"=")
			}
		}
		return list, how | cobra.ShellCompDirectiveNoSpace
	}
}
