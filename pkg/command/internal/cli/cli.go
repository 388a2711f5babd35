// Package cli is what the commands have in common: how they refuse and how they
// print.
package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"molehill/pkg/plugin"
)

// Group makes cmd a command that only holds others: an unknown one is refused with
// the nearest, and by itself it prints its help.
func Group(cmd *cobra.Command, others ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(others...)
	cmd.Args = subcommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return &plugin.UnknownError{Kind: "command", Name: args[0], Nearest: plugin.Nearest(args[0], names), List: cmd.CommandPath() + " --help"}
}

// Arguments has a command take what its Use line names; see Expect.
func Arguments(cmd *cobra.Command, args []string) error {
	_, form, _ := strings.Cut(cmd.Use, " ")
	return Expect(cmd, form, args)
}

// Expect says which arguments of a form are missing, and which required flags, or which
// argument is one too many. In a form each word before the first flag is an argument, one
// with "..." at least one, and one in brackets may be missing.
func Expect(cmd *cobra.Command, form string, args []string) error {
	words, _, _ := strings.Cut(" "+form, " -")
	all := strings.Fields(words)
	var missing []string
	for i, word := range all {
		if i >= len(args) && word[0] != '[' {
			missing = append(missing, strings.ReplaceAll(strings.TrimSuffix(word, "..."), "|", " or "))
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, required := f.Annotations[cobra.BashCompOneRequiredFlag]; required && !f.Changed {
			missing = append(missing, "--"+f.Name)
		}
	})
	wrong := ""
	switch last := len(missing) - 1; {
	case len(args) > len(all) && !strings.Contains(words, "..."):
		wrong = fmt.Sprintf("%q is one argument too many", args[len(all)])
	case last == 0:
		wrong = missing[0] + " is missing"
	case last > 0:
		wrong = strings.Join(missing[:last], ", ") + " and " + missing[last] + " are missing"
	default:
		return nil
	}
	path := cmd.CommandPath()
	wrong += ": expected `" + strings.TrimSpace(path+" "+form) + "`"
	for line := range strings.Lines(cmd.Example) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, path+" ") {
			wrong += ", such as `" + line + "`"
			break
		}
	}
	return fmt.Errorf("%s; see `%s --help`", wrong, path)
}

// computing marks commands that start or make computations.
const computing = "computing"

// Computes marks a command as one that computes, whose caller is told what makes it slow.
func Computes(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{computing: ""}
	return cmd
}

// IsComputing says whether a command is marked so.
func IsComputing(cmd *cobra.Command) bool {
	_, marked := cmd.Annotations[computing]
	return marked
}

// JSON writes value for scripts. A list of nothing is one, [], and not null.
func JSON(w io.Writer, value any) error {
	if list := reflect.ValueOf(value); list.Kind() == reflect.Slice && list.IsNil() {
		value = []any{}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// Count says how many there are of a thing: "1 run", "3 runs".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Quote returns a path as a shell takes it for one word.
func Quote(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%=", r)
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
