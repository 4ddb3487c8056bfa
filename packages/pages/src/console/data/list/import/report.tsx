import { locale } from '../../../../kit/language.ts';
import { texts } from '../../../texts.ts';
import { type RefusedRow, refusedCsv } from './run.ts';
import type { Source } from './source.ts';
import type { Outcome } from './use-import.ts';

const MAX_SHOWN_ERRORS = 50;

/** The rows that were rejected, and why. */
function RejectedRows({ rows }: { rows: readonly RefusedRow[] }) {
  return (
    <div class="table-box" tabindex={0} role="region" aria-label={texts.imports.rejectedRows}>
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">{texts.imports.row}</th>
            <th scope="col">{texts.imports.error}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ number, errors }) => (
            <tr key={number}>
              <td>{number}</td>
              <td>
                {Object.entries(errors).map(([name, text]) => (
                  <p key={name}>{name === 'row' ? text : `${name}: ${text}`}</p>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Saves the refused rows as a file. */
function saveRefused(source: Source, refused: readonly RefusedRow[]): void {
  const link = document.createElement('a');
  // Excel reads a file as UTF-8 only with a byte order mark.
  link.href = URL.createObjectURL(new Blob(['\uFEFF', refusedCsv(source, refused)], { type: 'text/csv' }));
  link.download = `${source.name.replace(/\.\w+$/, '')}-rejected.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** What an import has done, or would do. */
export function ImportReport({ outcome, isChecked }: { outcome: Outcome; isChecked: boolean }) {
  const { written, rejected, refused, warnings, source, stopped } = outcome;
  const verb = (isChecked ? texts.imports.wouldBeWritten : texts.imports.written)(written);
  const shown = refused.slice(0, MAX_SHOWN_ERRORS);
  return (
    <>
      {stopped && (
        <p class="form-error" role="alert">
          {texts.imports.endedEarly(stopped)}
        </p>
      )}
      <p role="status">
        <b>{written.toLocaleString(locale)}</b> {verb},{' '}
        <b class={rejected > 0 ? 'bad-text' : ''}>{rejected.toLocaleString(locale)}</b> {texts.imports.rejected}.
      </p>
      {isChecked &&
        warnings.map((text) => (
          <p key={text} class="soft">
            {text}.
          </p>
        ))}
      {shown.length > 0 && (
        <>
          <RejectedRows rows={shown} />
          {rejected > shown.length && <p class="soft">{texts.imports.firstShown(shown.length)}</p>}
          {source && (
            <p>
              <button type="button" onClick={() => saveRefused(source, refused)}>
                {texts.imports.download}
              </button>
            </p>
          )}
        </>
      )}
    </>
  );
}
