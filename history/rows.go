package history

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"windtunnel/analysis"
	"windtunnel/result"
	"windtunnel/stats"
)

// update brings the index to what is there, and says how many runs it read for that.
func (ix *index) update(ctx context.Context, there map[string]state) (int, error) {
	known, err := ix.known(ctx)
	if err != nil { // whole by its check and yet not to be read: made anew
		ix.close()
		known = nil
	}
	changed, gone := stale(there, known)
	if ix.db != nil && len(changed) == 0 && len(gone) == 0 {
		return 0, nil
	}
	if err := ix.changeable(ctx); err != nil {
		return 0, err
	}
	return ix.follow(ctx, there)
}

// follow notes what is there. A copy that cannot take it, as the disk is full, is given up for one in memory.
func (ix *index) follow(ctx context.Context, there map[string]state) (int, error) {
	read, err := ix.note(ctx, there)
	if err == nil || ix.temporary == "" || ctx.Err() != nil {
		return read, err
	}
	if err := ix.unkept(ctx, err); err != nil {
		return 0, err
	}
	return ix.note(ctx, there)
}

// note brings an index that may be changed to what is there.
func (ix *index) note(ctx context.Context, there map[string]state) (int, error) {
	known, err := ix.known(ctx) // another program may have changed what was copied
	if err != nil {
		return 0, err
	}
	changed, gone := stale(there, known)
	for _, name := range gone {
		if err := ix.forget(ctx, ix.db, name); err != nil {
			return 0, fmt.Errorf("forgetting run %s in the index: %w", name, err)
		}
	}
	for _, name := range changed {
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("reading %d runs: %w", len(changed), err)
		}
		if err := ix.take(ctx, name, there[name]); err != nil {
			return 0, fmt.Errorf("noting run %s in the index: %w", name, err)
		}
	}
	return len(changed), nil
}

func (ix *index) known(ctx context.Context) (map[string]state, error) {
	if ix.db == nil {
		return nil, nil
	}
	known := map[string]state{}
	err := ix.each(ctx, func(rows *sql.Rows) error {
		var name string
		var s state
		if err := rows.Scan(&name, &s.size, &s.changed); err != nil {
			return err
		}
		known[name] = s
		return nil
	}, "SELECT path, size, changed FROM runs")
	return known, err
}

// each uses every row that a query finds.
func (ix *index) each(ctx context.Context, use func(*sql.Rows) error, query string, args ...any) error {
	rows, err := ix.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := use(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// executor is a database or a transaction of it.
type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func (ix *index) forget(ctx context.Context, to executor, name string) error {
	for _, statement := range []string{"DELETE FROM runs WHERE path = ?", "DELETE FROM cells WHERE path = ?", "DELETE FROM figures WHERE path = ?", "DELETE FROM ratios WHERE path = ?"} {
		if _, err := to.ExecContext(ctx, statement, name); err != nil {
			return err
		}
	}
	return nil
}

// take reads a run and notes it, or why it cannot be read.
func (ix *index) take(ctx context.Context, name string, s state) error {
	file, whyNot := result.Read(filepath.Join(ix.dir, name))
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after Commit it does nothing
	if err := ix.forget(ctx, tx, name); err != nil {
		return err
	}
	var past analysis.Past
	var head string
	if whyNot == nil {
		past = analysis.PastOf(name, file)
		head, whyNot = headOf(past)
	}
	if whyNot != nil {
		const statement = "INSERT INTO runs (path, size, changed, suite, run, started_at, why_not, head) VALUES (?, ?, ?, '', '', '', ?, '')"
		if _, err := tx.ExecContext(ctx, statement, name, s.size, s.changed, result.Clean(whyNot.Error())); err != nil {
			return err
		}
		return tx.Commit()
	}
	if err := insert(ctx, tx, s, past, head); err != nil {
		return err
	}
	return tx.Commit()
}

func insert(ctx context.Context, tx *sql.Tx, s state, p analysis.Past, head string) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO runs (path, size, changed, suite, run, started_at, why_not, head) VALUES (?, ?, ?, ?, ?, ?, '', ?)",
		p.Path, s.size, s.changed, p.Run.Suite, p.Run.ID, p.Run.StartedAt, head); err != nil {
		return err
	}
	for _, c := range p.Cells {
		if _, err := tx.ExecContext(ctx, "INSERT INTO cells (path, cell, status, trials, window_seconds, congestion) VALUES (?, ?, ?, ?, ?, ?)",
			p.Path, c.Spec.Name, c.Status, c.Trials, c.WindowSeconds, c.Congestion); err != nil {
			return err
		}
		for m, f := range c.Figures {
			if _, err := tx.ExecContext(ctx, "INSERT INTO figures (path, cell, metric, mean, low, high, n) VALUES (?, ?, ?, ?, ?, ?, ?)",
				p.Path, c.Spec.Name, string(m), f.Mean, f.Low, f.High, f.N); err != nil {
				return err
			}
		}
	}
	for _, r := range p.Ratios {
		e := r.Estimate
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO ratios (path, over, under, metric, estimate, low, high, n) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			p.Path, r.Ratio.Over, r.Ratio.Under, string(r.Ratio.Metric), e.Estimate, e.Low, e.High, e.N); err != nil {
			return err
		}
	}
	return nil
}

// headOf writes a run's records without its trials as a run file has them. The error is why they cannot be read back:
// texts that were cleaned may have become too long.
func headOf(p analysis.Past) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	run := p.Run
	run.Record, run.Format = result.RecordRun, result.Format
	errs := []error{encoder.Encode(run)}
	for _, c := range p.Cells {
		spec := c.Spec
		spec.Record = result.RecordCell
		errs = append(errs, encoder.Encode(spec))
	}
	_, err := result.Decode(bytes.NewReader(text.Bytes()))
	return text.String(), errors.Join(append(errs, err)...)
}

// suite reads what the index has of a suite.
func (ix *index) suite(ctx context.Context, suite string, found *Found) error {
	var paths []string
	suites := map[string]bool{}
	err := ix.each(ctx, func(rows *sql.Rows) error {
		var path, of, why string
		if err := rows.Scan(&path, &of, &why); err != nil {
			return err
		}
		switch {
		case why != "":
			found.Left = append(found.Left, analysis.LeftOut{Path: path, Why: result.Clean(why)})
		case of == suite:
			paths = append(paths, path)
			fallthrough
		default:
			suites[result.Clean(of)] = true
		}
		return nil
	}, "SELECT path, suite, why_not FROM runs ORDER BY path")
	if err != nil {
		return err
	}
	found.Suites = sortedNames(suites)
	for _, path := range paths {
		p, err := ix.past(ctx, path)
		if err != nil {
			return err
		}
		found.Past = append(found.Past, p)
	}
	return nil
}

// past reads a run back. Records go through the reader of run files, which takes nothing on trust; of figures those that
// no run can have are left out.
func (ix *index) past(ctx context.Context, path string) (analysis.Past, error) {
	var head string
	if err := ix.db.QueryRowContext(ctx, "SELECT head FROM runs WHERE path = ?", path).Scan(&head); err != nil {
		return analysis.Past{}, err
	}
	file, err := result.Decode(bytes.NewReader([]byte(head)))
	if err != nil {
		return analysis.Past{}, err
	}
	p := analysis.Past{Path: path, Run: file.Run}
	at := map[string]int{}
	for i, spec := range file.Cells {
		p.Cells = append(p.Cells, analysis.Cell{Spec: spec, Figures: map[result.Metric]result.Figure{}})
		at[spec.Name] = i
	}
	if err := ix.states(ctx, &p, at); err != nil {
		return p, err
	}
	if err := ix.figures(ctx, &p, at); err != nil {
		return p, err
	}
	return p, ix.ratios(ctx, &p)
}

func (ix *index) states(ctx context.Context, p *analysis.Past, at map[string]int) error {
	return ix.each(ctx, func(rows *sql.Rows) error {
		var c analysis.Cell
		var name string
		if err := rows.Scan(&name, &c.Status, &c.Trials, &c.WindowSeconds, &c.Congestion); err != nil {
			return err
		}
		if i, ok := at[name]; ok {
			into := &p.Cells[i]
			into.Status, into.Trials, into.WindowSeconds, into.Congestion = c.Status, c.Trials, c.WindowSeconds, result.Clean(c.Congestion)
		}
		return nil
	}, "SELECT cell, status, trials, window_seconds, congestion FROM cells WHERE path = ?", p.Path)
}

func (ix *index) figures(ctx context.Context, p *analysis.Past, at map[string]int) error {
	return ix.each(ctx, func(rows *sql.Rows) error {
		var cell, metric string
		var f result.Figure
		if err := rows.Scan(&cell, &metric, &f.Mean, &f.Low, &f.High, &f.N); err != nil {
			return err
		}
		if i, ok := at[cell]; ok && credible(f.Mean, f.N) {
			f.Low, f.High = finite(f.Low), finite(f.High)
			p.Cells[i].Figures[result.Metric(metric)] = f
		}
		return nil
	}, "SELECT cell, metric, mean, low, high, n FROM figures WHERE path = ?", p.Path)
}

func (ix *index) ratios(ctx context.Context, p *analysis.Past) error {
	return ix.each(ctx, func(rows *sql.Rows) error {
		var r result.Ratio
		var e stats.Estimate
		if err := rows.Scan(&r.Over, &r.Under, &r.Metric, &e.Estimate, &e.Low, &e.High, &e.N); err != nil {
			return err
		}
		if !credible(e.Estimate, e.N) {
			return nil
		}
		r.Metric = result.Metric(result.Clean(string(r.Metric))) // its cells are those that a record names
		e.Low, e.High = finite(e.Low), finite(e.High)
		p.Ratios = append(p.Ratios, analysis.Ratio{Ratio: r, Estimate: e})
		return nil
	}, "SELECT over, under, metric, estimate, low, high, n FROM ratios WHERE path = ? ORDER BY over, under, metric", p.Path)
}

// credible reports whether n trials may have this mean. SQLite has no NaN, but infinities.
func credible(mean float64, n int) bool { return n > 0 && !math.IsInf(mean, 0) }

func finite(bound *float64) *float64 {
	if bound != nil && math.IsInf(*bound, 0) {
		return nil
	}
	return bound
}

func sortedNames(all map[string]bool) []string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
