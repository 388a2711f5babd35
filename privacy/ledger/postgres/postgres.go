// Package postgres keeps a ledger in a PostgreSQL database, which a team shares. Import
// it for its effect.
package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"molehill/privacy/ledger/internal/store"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

func init() { store.Register("postgres", open) }

// seatBelts keep SQL by hand from changing what was written.
var seatBelts = []string{
	`CREATE FUNCTION molehill_ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'the ledger is only appended to: no % of %', TG_OP, TG_TABLE_NAME; END $$`,
	`CREATE TRIGGER molehill_ledger_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON molehill_ledger_entry
		FOR EACH STATEMENT EXECUTE FUNCTION molehill_ledger_refuse()`,
	`CREATE TRIGGER molehill_ledger_head_kept BEFORE INSERT OR DELETE OR TRUNCATE ON molehill_ledger_head
		FOR EACH STATEMENT EXECUTE FUNCTION molehill_ledger_refuse()`,
	`CREATE TRIGGER molehill_ledger_head_forward BEFORE UPDATE ON molehill_ledger_head
		FOR EACH ROW WHEN (NEW.seq <> OLD.seq + 1) EXECUTE FUNCTION molehill_ledger_refuse()`,
}

// begun is what each transaction asks of the server: that a commit that it
// acknowledges survives a crash of its own, that nobody waits for ever, and
// that a client which went silent does not keep the others out.
var begun = fmt.Sprintf("SET LOCAL synchronous_commit = on; SET LOCAL lock_timeout = %d; SET LOCAL idle_in_transaction_session_timeout = %d", store.Patience.Milliseconds(), store.Longest.Milliseconds())

// open returns the store in a PostgreSQL database. Writers take the lock
// of the head's row, one after the other; the server frees it when a client
// dies.
func open(address string) (store.Store, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return store.Store{}, fmt.Errorf("ledger: %w; expected an address such as postgres://user@host/database", err) // pgx hides the password
	}
	if config.Database == "" { // a server takes one of the user's name: for each user another ledger
		return store.Store{}, fmt.Errorf("ledger: the address %s names no database; expected one such as postgres://user@host/database", config.Host)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = store.Patience / 3
	}
	// One address is one ledger, whoever uses it: by the server's default a user with a
	// schema of the same name would have another.
	begun := begun
	schema, chosen := config.RuntimeParams["search_path"]
	if options := config.RuntimeParams["options"]; !chosen && strings.Contains(options, "search_path") {
		schema, chosen = options, true
	}
	if !chosen {
		begun += "; SET LOCAL search_path = public"
	}
	where := fmt.Sprintf("postgres://%s/%s", config.Host, config.Database)
	if config.Port != 5432 {
		where = fmt.Sprintf("postgres://%s:%d/%s", config.Host, config.Port, config.Database)
	}
	if chosen {
		where += "?search_path=" + schema
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(2)
	return store.Store{
		DB: db, Where: where, Lock: " FOR UPDATE", Begun: begun,
		Made: made(chosen), Once: madeOnce, Make: slices.Concat(store.Tables, seatBelts),
		Missing: func() bool { return false },
		Advise:  advise,
		Refused: func(error) bool { return false },
	}, nil
}

// madeOnce keeps two clients from making the tables at the same time. The
// number has no meaning.
const madeOnce = "SELECT pg_advisory_xact_lock(5276011203117446507)"

// made says whether the tables are there. Where none are and the address chooses
// no schema, a ledger in another one is not passed over.
//
// It is one look at the catalogue: of two, the second may see what others have made since
// the first. And to_regclass, after waiting for them, still says that nothing is there.
func made(chosen bool) func(context.Context, *sql.Tx) (bool, error) {
	return func(ctx context.Context, tx *sql.Tx) (found bool, err error) {
		var schema string
		err = tx.QueryRowContext(ctx, `SELECT n.nspname, n.nspname = ANY (current_schemas(false)) AS here
			FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relname = 'molehill_ledger_head' ORDER BY here DESC, 1 LIMIT 1`).Scan(&schema, &found)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return false, nil
		case err == nil && !found && !chosen:
			err = fmt.Errorf("there is no ledger in the schema public, and one in %q: add ?search_path=%[1]s to the address to go on with it; nothing was changed", schema)
		}
		return found, err
	}
}

func advise(err error) string {
	var (
		fault      *pgconn.PgError
		unanswered *pgconn.ConnectError
		network    net.Error
	)
	switch {
	case errors.As(err, &fault):
		switch {
		case fault.Code == "55P03": // lock_not_available
			return fmt.Sprintf("another client has kept it locked for %v: find that client, or try again", store.Patience)
		case fault.Code == "25006": // read_only_sql_transaction
			return "the server is read-only, a standby perhaps: use the primary"
		case fault.Code == "42501": // insufficient_privilege
			return "this user may not use or make the tables molehill_ledger_*: ask for the rights, or for a schema that all may write, which ?search_path=NAME chooses in the address"
		case fault.Code == "08P01": // protocol_violation
			return "a parameter of the address is not known there; behind PgBouncer see its ignore_startup_parameters"
		case strings.HasPrefix(fault.Code, "57P"), strings.HasPrefix(fault.Code, "08"): // shutdowns, connections
			return "the server went away: try again when it is back"
		case strings.HasPrefix(fault.Code, "28"), fault.Code == "3D000": // authorisation, no such database
			return "check the user, the password and the database of the address"
		}
		return "PostgreSQL refused"
	case errors.As(err, &unanswered):
		return "is the server running, and the address right?"
	case errors.Is(err, context.DeadlineExceeded):
		return "the server did not answer in time; another client may keep it locked: try again"
	case errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, pgconn.ErrConnClosed), errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone):
		return "the connection to the server was lost: try again when it is back"
	}
	return ""
}
