package command

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"github.com/spf13/cobra"

	"molehill/pkg/kernel"
	"molehill/pkg/run"
)

// repository is the folder of Molehill's go.mod around the working folder.
func repository() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	root, ok := run.ModuleRoot(here)
	if !ok {
		return "", fmt.Errorf("%s is not in a checkout of molehill; change into one, its notebooks and kernel are there", here)
	}
	return root, nil
}

func labCommand() *cobra.Command {
	var serve kernel.ServeOptions
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "set up JupyterLab with the Molehill kernel in this checkout, and open it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := repository()
			if err != nil {
				return err
			}
			env, err := kernel.Setup(cmd.Context(), kernel.Options{Root: root, Out: cmd.OutOrStdout()})
			if err != nil {
				return err
			}
			serve.Out = cmd.OutOrStdout()
			return env.Serve(cmd.Context(), serve)
		},
	}
	cmd.Flags().IntVar(&serve.Port, "port", 0, "port on 127.0.0.1 (default: 8888, or the next free one)")
	cmd.Flags().BoolVar(&serve.Check, "check", false, "do everything but stay: start, ask for the kernel, stop")
	return cmd
}

func notebooks() *cobra.Command {
	var html bool
	cmd := &cobra.Command{
		Use:   "notebooks [FILE...]",
		Short: "execute notebooks in place (default: all lessons)",
		RunE: func(cmd *cobra.Command, files []string) error {
			root, err := repository()
			if err != nil {
				return err
			}
			if len(files) == 0 {
				if files, err = filepath.Glob(filepath.Join(root, "notebooks", "*.ipynb")); err != nil {
					return err
				}
				sort.Strings(files)
			}
			env, err := kernel.Setup(cmd.Context(), kernel.Options{Root: root, Out: cmd.OutOrStdout()})
			if err != nil {
				return err
			}
			for _, file := range files {
				result, err := kernel.Execute(cmd.Context(), env, file, kernel.ExecuteOptions{InPlace: true, Out: cmd.OutOrStdout()})
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s executed in %.0f s\n", filepath.Base(file), result.Elapsed.Seconds())
			}
			if !html {
				return nil
			}
			pages, err := kernel.ExportHTML(cmd.Context(), env, filepath.Join(root, "exports"), files...)
			for _, page := range pages {
				fmt.Fprintln(cmd.OutOrStdout(), page)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&html, "html", false, "export them as HTML to exports/ too")
	return cmd
}
