package cli

import (
	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/spelling"
)

// noArgs refuses words behind a command.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// atMostOne refuses more than one name behind a command.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes one name at most, got %q", cmd.CommandPath(), args)
	}
	return nil
}

// atLeastOne refuses a command without words; what names one of them in the message.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("%s takes one %s or several, got none", cmd.CommandPath(), what)
		}
		return nil
	}
}

// exactly refuses a command with other than n words; what says in the message which words it takes.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s takes %s, got %s", cmd.CommandPath(), what, spelling.Count(len(args), "argument"))
		}
		return nil
	}
}
