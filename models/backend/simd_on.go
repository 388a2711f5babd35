//go:build goexperiment.simd

package backend

const simd = true
