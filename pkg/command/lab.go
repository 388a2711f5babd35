package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"molehill/pkg/checkout"
	"molehill/pkg/kernel"
	"molehill/pkg/kernel/lessons"
)

// repository is the folder of Molehill's go.mod around the working folder.
func repository() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	root, ok := checkout.Root(here)
	if !ok {
		return "", fmt.Errorf("%s is not in a checkout of molehill; change into one, its notebooks and kernel are there", here)
	}
	return root, nil
}

func labCommand() *cobra.Command {
	var serve kernel.ServeOptions
	var running bool
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "set up JupyterLab with the Molehill kernel in this checkout, and start it",
		Long: `Sets up JupyterLab with the Molehill kernel in this checkout, starts it on 127.0.0.1 and prints the address to open.
Where this checkout has one running already, its address is printed instead.

The address carries a fresh token, or that of JUPYTER_TOKEN. Whoever knows it runs programs as you.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := repository()
			if err != nil {
				return err
			}
			if running {
				return tellRunning(cmd, root)
			}
			env, err := kernel.Setup(cmd.Context(), kernel.Options{Root: root, Out: cmd.OutOrStdout()})
			if err != nil {
				return err
			}
			serve.Out = cmd.OutOrStdout()
			serve.Token = os.Getenv("JUPYTER_TOKEN")
			return env.Serve(cmd.Context(), serve)
		},
	}
	cmd.Flags().IntVar(&serve.Port, "port", 0, "port on 127.0.0.1 (default: 8888, or the next free one)")
	cmd.Flags().StringVar(&serve.Address, "address", "127.0.0.1", "where to listen; another one is for containers: everybody who reaches it sees the login page")
	cmd.Flags().BoolVar(&serve.Another, "another", false, "start one more, also if this checkout has one running")
	cmd.Flags().BoolVar(&running, "running", false, "only print the address of the one that runs; an error if none answers")
	cmd.Flags().BoolVar(&serve.Check, "check", false, "do everything but stay: start, ask for the kernel, stop")
	return cmd
}

// tellRunning prints the addresses of the JupyterLabs that answer.
func tellRunning(cmd *cobra.Command, root string) error {
	found, err := kernel.Find(root)
	if err != nil {
		return err
	}
	servers, err := found.Running(cmd.Context())
	if err != nil {
		return err
	}
	if len(servers) == 0 {
		return fmt.Errorf("no JupyterLab of %s answers; `make lab` starts one", root)
	}
	for _, s := range servers {
		fmt.Fprintln(cmd.OutOrStdout(), s.URL)
	}
	return nil
}

func notebooks() *cobra.Command {
	var html, index bool
	cmd := &cobra.Command{
		Use:   "notebooks [FILE...]",
		Short: "execute notebooks in place (default: all lessons), and write the page of lessons",
		Long: `Executes notebooks in place, up to the first cell that fails: then the notebook stays as it is, and
a copy with what was executed is in the folder "executed" beside it. It fails where one does not show
what its metadata.molehill promises, and says where one took longer than that expects of two cores.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			root, err := repository()
			if err != nil {
				return err
			}
			folder := filepath.Join(root, "notebooks")
			if index {
				return lessons.Write(folder)
			}
			if len(files) == 0 {
				if files, err = lessons.Notebooks(folder); err != nil {
					return err
				}
			}
			if name := sharedName(files); html && name != "" {
				return fmt.Errorf("--html: two notebooks are called %s, and their pages would be one file in exports/; export them one at a time, or rename one", name)
			}
			promised, err := expectations(files)
			if err != nil {
				return err
			}
			env, err := kernel.Setup(cmd.Context(), kernel.Options{Root: root, Out: cmd.OutOrStdout()})
			if err != nil {
				return err
			}
			var missing []error
			for i, file := range files {
				result, err := kernel.Execute(cmd.Context(), env, file, kernel.ExecuteOptions{InPlace: true, Out: cmd.OutOrStdout()})
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s executed in %.0f s\n", filepath.Base(file), result.Elapsed.Seconds())
				if late := promised[i].Late(result); late != "" {
					fmt.Fprintf(cmd.OutOrStdout(), "%s is late: %s\n", filepath.Base(file), late)
				}
				for _, line := range promised[i].Check(result) {
					missing = append(missing, fmt.Errorf("%s: %s (metadata.molehill of the notebook)", filepath.Base(file), line))
				}
			}
			if slices.ContainsFunc(files, func(file string) bool { return sameFolder(file, folder) }) {
				if err := lessons.Write(folder); err != nil {
					return err
				}
			}
			if !html {
				return errors.Join(missing...)
			}
			if page := filepath.Join(folder, kernel.Index); len(files) > 1 {
				files = append(files, page) // whose links lead to the others' pages
			}
			pages, err := kernel.ExportHTML(cmd.Context(), env, filepath.Join(root, "exports"), files...)
			for _, page := range pages {
				fmt.Fprintln(cmd.OutOrStdout(), page)
			}
			return errors.Join(append(missing, err)...)
		},
	}
	cmd.Flags().BoolVar(&html, "html", false, "export them as HTML to exports/ too: pages that open offline")
	cmd.Flags().BoolVar(&index, "index", false, "execute nothing, only write the page of lessons, notebooks/"+kernel.Index)
	return cmd
}

// expectations are what notebooks promise to show, and in what time.
func expectations(files []string) (all []kernel.Expectation, err error) {
	for _, file := range files {
		nb, err := kernel.ReadNotebook(file)
		if err != nil {
			return nil, err
		}
		x, err := nb.Expectation()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, x)
	}
	return all, nil
}

// sameFolder reports whether file lies in folder.
func sameFolder(file, folder string) bool {
	path, err := filepath.Abs(file)
	return err == nil && filepath.Dir(path) == folder
}

// sharedName is the name of a file that several of some paths have, "" where none do.
func sharedName(paths []string) string {
	seen := map[string]bool{}
	for _, path := range paths {
		name := filepath.Base(path)
		if seen[name] {
			return name
		}
		seen[name] = true
	}
	return ""
}
