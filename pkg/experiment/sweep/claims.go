package sweep

import "molehill/privacy"

// Claims are what may be said of rows that share their settings: the largest ε that is
// proved of any of them, as one of another seed or of an earlier accountant may differ in
// its last digits, and the ε of the first that a paper prints, or its accounting gives,
// for the same noise; "" where it claims none.
func Claims(rows []Row) (proved privacy.Epsilon, published string) {
	for _, row := range rows {
		proved = max(proved, privacy.Statement{Claims: row.Claims}.Epsilon())
	}
	if claim, ok := (privacy.Statement{Claims: rows[0].Claims}).Published(); ok {
		published = claim.Epsilon.String()
	}
	return proved, published
}
