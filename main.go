// Molehill is private optimal transport in Go notebooks; this is its command line.
package main

import (
	_ "github.com/gomlx/gomlx/backends/default"
	_ "github.com/gomlx/gomlx/core/graph"
	_ "github.com/gomlx/gomlx/ml/model"
	_ "github.com/gomlx/gomlx/ml/train"
	_ "github.com/janpfeifer/gonb/gonbui"
	_ "github.com/schollz/progressbar/v3"
	_ "github.com/spf13/cobra"
	_ "golang.org/x/image/font/opentype"
	_ "gonum.org/v1/gonum/dsp/fourier"
	_ "gonum.org/v1/plot"
)

func main() {}
