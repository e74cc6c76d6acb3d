package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// The index is never changed in place: a copy is changed and then renamed over it. So whoever reads has a whole one,
// whoever dies leaves the old one, several who write at once each leave a right one, and no lock is needed.
const (
	indexName     = "index.sqlite"
	temporaryName = indexName + ".*.tmp"
	abandonedFor  = time.Hour // a copy that old is of a program that was killed
	mostIndex     = 1 << 30   // bytes; a larger one is not believed
)

// application is how SQLite tells our index from other databases (PRAGMA application_id): "wndt".
const application = 0x776e6474

// schema is the whole of it: an index with another one is thrown away. `head` are the records of the run file without
// its trials, as lines.
var schema = []string{
	`CREATE TABLE about (version TEXT NOT NULL)`,
	`CREATE TABLE runs (path TEXT PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL, suite TEXT NOT NULL, run TEXT NOT NULL, started_at TEXT NOT NULL, why_not TEXT NOT NULL, head TEXT NOT NULL)`,
	`CREATE TABLE cells (path TEXT NOT NULL, cell TEXT NOT NULL, status TEXT NOT NULL, trials INTEGER NOT NULL, window_seconds REAL NOT NULL, congestion TEXT NOT NULL, PRIMARY KEY (path, cell)) WITHOUT ROWID`,
	`CREATE TABLE figures (path TEXT NOT NULL, cell TEXT NOT NULL, metric TEXT NOT NULL, mean REAL NOT NULL, low REAL, high REAL, n INTEGER NOT NULL, PRIMARY KEY (path, cell, metric)) WITHOUT ROWID`,
	`CREATE TABLE ratios (path TEXT NOT NULL, over TEXT NOT NULL, under TEXT NOT NULL, metric TEXT NOT NULL, estimate REAL NOT NULL, low REAL, high REAL, n INTEGER NOT NULL, PRIMARY KEY (path, over, under, metric)) WITHOUT ROWID`,
	`CREATE INDEX runs_of_suite ON runs (suite)`,
}

// index is an open one: the folder's, or a copy of it that was changed.
type index struct {
	dir, version string
	db           *sql.DB
	temporary    string // the copy's file; "": the folder's index is as it was
	notice       string
}

// open opens the folder's index, if it is ours and whole, else an empty one.
func open(ctx context.Context, dir string, o Options) *index {
	ix := &index{dir: dir, version: o.Version}
	if file := filepath.Join(dir, indexName); !o.Rebuild && believable(file) {
		db, err := connect(file, "mode=ro&immutable=1")
		if err == nil {
			err = ours(ctx, db, o.Version)
		}
		if err == nil {
			ix.db = db
			return ix
		}
		if db != nil {
			db.Close()
		}
	}
	return ix
}

// believable reports whether a file may be an index at all.
func believable(file string) bool {
	info, err := os.Lstat(file)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0 && info.Size() <= mostIndex
}

// connect opens a database by one connection, since settings are a connection's. What its schema calls is not run
// (https://www.sqlite.org/security.html, "untrusted SQLite database files").
func connect(file, options string) (*sql.DB, error) {
	whole, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	name := (&url.URL{Scheme: "file", Path: slashed(whole)}).String()
	return connected(name + "?" + options)
}

func connected(name string) (*sql.DB, error) {
	separator := "?"
	if strings.Contains(name, "?") {
		separator = "&"
	}
	db, err := sql.Open("sqlite", name+separator+"_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=journal_mode(memory)&_pragma=synchronous(0)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// slashed is a path as a URL has it: of Windows with a slash before the drive.
func slashed(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return path
}

var errNotOurs = errors.New("not this program's index")

// ours says why a database is not an index that this very version made, and that is whole.
func ours(ctx context.Context, db *sql.DB, version string) error {
	var id int
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if id != application {
		return errNotOurs
	}
	has, err := texts(ctx, db, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL LIMIT 100")
	if err != nil {
		return err
	}
	slices.Sort(has)
	wants := slices.Sorted(slices.Values(schema))
	if !slices.Equal(has, wants) {
		return errNotOurs
	}
	if about, err := texts(ctx, db, "SELECT version FROM about LIMIT 2"); err != nil || !slices.Equal(about, []string{version}) {
		return errors.Join(errNotOurs, err)
	}
	check, err := texts(ctx, db, "PRAGMA quick_check(1)")
	if err != nil || !slices.Equal(check, []string{"ok"}) {
		return errors.Join(errNotOurs, err)
	}
	return nil
}

// texts are the rows of a query of one column.
func texts(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// changeable goes over to a copy of the index that may be changed, or to an empty one. Where the folder cannot be
// written to it is in memory, and a notice says so.
func (ix *index) changeable(ctx context.Context) error {
	copied := ix.db != nil
	if copied {
		if err := ix.db.Close(); err != nil {
			return err
		}
		ix.db = nil
	}
	err := ix.copy(ctx, copied)
	if err == nil {
		return nil
	}
	return ix.unkept(ctx, err)
}

// unkept goes over to an empty index in memory, because the folder takes none.
func (ix *index) unkept(ctx context.Context, why error) (err error) {
	ix.close()
	ix.notice = fmt.Sprintf("the index is not kept, so the next history reads all runs again: %v", why)
	if ix.db, err = connected(":memory:"); err != nil {
		return err
	}
	return create(ctx, ix.db, ix.version)
}

func (ix *index) copy(ctx context.Context, whole bool) error {
	sweep(ix.dir)
	file, err := os.CreateTemp(ix.dir, temporaryName)
	if err != nil {
		return err
	}
	ix.temporary = file.Name()
	if whole {
		err = pour(file, filepath.Join(ix.dir, indexName))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if ix.db, err = connect(ix.temporary, "mode=rw"); err != nil {
		return err
	}
	if whole && ours(ctx, ix.db, ix.version) == nil {
		return nil // checked again: another program may have renamed its own over it in between
	}
	if whole {
		ix.close()
		return ix.copy(ctx, false)
	}
	return create(ctx, ix.db, ix.version)
}

func pour(to io.Writer, from string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(to, io.LimitReader(file, mostIndex+1))
	return err
}

func create(ctx context.Context, db *sql.DB, version string) error {
	for _, statement := range append(slices.Clone(schema), fmt.Sprintf("PRAGMA application_id = %d", application)) {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("making the index: %w", err)
		}
	}
	_, err := db.ExecContext(ctx, "INSERT INTO about (version) VALUES (?)", version)
	return err
}

// sweep removes the copies that killed programs left.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if match, err := filepath.Match(temporaryName, e.Name()); err != nil || !match {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > abandonedFor {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// keep puts a changed copy in the place of the index.
func (ix *index) keep() error {
	if ix.temporary == "" {
		return nil
	}
	err := ix.db.Close()
	ix.db = nil
	if err == nil {
		err = os.Chmod(ix.temporary, 0o644) // as the runs beside it
	}
	if err == nil {
		err = os.Rename(ix.temporary, filepath.Join(ix.dir, indexName))
	}
	if err != nil {
		ix.close()
		return fmt.Errorf("the index is not kept, so the next history reads all runs again: %w", err)
	}
	ix.temporary = ""
	return nil
}

// close ends the use of an index; a copy that was not kept is removed.
func (ix *index) close() {
	if ix.db != nil {
		ix.db.Close()
		ix.db = nil
	}
	if ix.temporary != "" {
		os.Remove(ix.temporary)
		ix.temporary = ""
	}
}
