package sweep

import (
	"iter"
	"strings"
)

// symbols are how the symbols of tables are spelt in the names of files.
var symbols = strings.NewReplacer("∞", "inf", "×", "x", "÷", "d", "ε", "e", "λ", "lambda")

// Picture is the name of a picture's file: what it shows, word by word, in letters that
// every system takes.
func Picture(words ...string) string {
	name := strings.FieldsFunc(symbols.Replace(strings.ToLower(strings.Join(words, " "))), func(r rune) bool {
		return r != '.' && !(r >= '0' && r <= '9') && !(r >= 'a' && r <= 'z')
	})
	return strings.Join(name, "-") + ".png"
}

// Split yields what has the same key together, keys in the order in which they occur.
func Split[T any, K comparable](all []T, key func(T) K) iter.Seq2[K, []T] {
	var keys []K
	of := map[K][]T{}
	for _, v := range all {
		k := key(v)
		if of[k] == nil {
			keys = append(keys, k)
		}
		of[k] = append(of[k], v)
	}
	return func(yield func(K, []T) bool) {
		for _, k := range keys {
			if !yield(k, of[k]) {
				return
			}
		}
	}
}
