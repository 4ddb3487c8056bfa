import { locale } from '../../../../kit/language.ts';
import { texts } from '../../../texts.ts';
import type { ResourceInfo } from '../../app-info.ts';
import { fieldLabel } from '../../schema.ts';
import type { Delimiter } from './csv.ts';
import { ENCODINGS } from './encoding.ts';
import { type Mapping, missingFields } from './mapping.ts';
import { type RefusedRow, rowProblem } from './run.ts';
import type { ReadChoice, Source } from './source.ts';

const PREVIEW_ROWS = 5;
const DELIMITERS: readonly Delimiter[] = [',', ';', '\t'];

/** How the file is read: found, and changed if letters or columns look wrong. */
export function ReadChoices({
  source,
  onChange,
}: {
  source: Pick<Source, 'encoding' | 'delimiter'>;
  onChange: (choice: ReadChoice) => void;
}) {
  const { encoding, delimiter } = source;
  return (
    <div class="import-choices">
      <label>
        {texts.imports.encoding}
        <select
          value={encoding}
          onChange={({ currentTarget: { value } }) => {
            const chosen = ENCODINGS.find((one) => one === value);
            if (chosen) onChange({ encoding: chosen, delimiter });
          }}
        >
          {ENCODINGS.map((value) => (
            <option key={value} value={value}>
              {texts.imports.encodings[value]}
            </option>
          ))}
        </select>
      </label>
      <label>
        {texts.imports.separatedBy}
        <select
          value={delimiter}
          onChange={({ currentTarget: { value } }) => {
            const chosen = DELIMITERS.find((one) => one === value);
            if (chosen) onChange({ encoding, delimiter: chosen });
          }}
        >
          {DELIMITERS.map((value) => (
            <option key={value} value={value}>
              {texts.imports.delimiters[value]}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

/** The field that each column sets. */
export function ColumnChoices({
  resource,
  source,
  mapping,
  targets,
  onChange,
}: {
  resource: ResourceInfo;
  source: Source;
  mapping: Mapping;
  targets: readonly string[];
  /** Gets the position of the column and the name of its field. */
  onChange: (column: number, name: string) => void;
}) {
  const missing = missingFields(resource.fields, mapping, targets);
  return (
    <fieldset class="import-columns">
      <legend>{texts.imports.columns}</legend>
      {source.header.map((column, i) => (
        <label key={`${i} ${column}`}>
          <span>{column === '' ? texts.imports.column(i + 1) : column}</span>
          <select value={mapping[i]} onChange={({ currentTarget: { value } }) => onChange(i, value)}>
            <option value="">{texts.imports.doNotImport}</option>
            {targets.map((name) => (
              <option key={name} value={name}>
                {fieldLabel(resource, name)}
              </option>
            ))}
          </select>
        </label>
      ))}
      {missing.length > 0 && (
        <p class="bad-text">{texts.imports.missing(missing.map((name) => fieldLabel(resource, name)).join(', '))}</p>
      )}
    </fieldset>
  );
}

/** The first rows as they will be sent, with what is wrong with them. @param refused what a check has found */
export function Preview({
  resource,
  source: { rows, header },
  mapping,
  refused,
}: {
  resource: ResourceInfo;
  source: Source;
  mapping: Mapping;
  refused: readonly RefusedRow[];
}) {
  const columns = header.flatMap((_, i) => (mapping[i] ? [{ i, name: mapping[i] }] : []));
  const shown = rows.slice(0, PREVIEW_ROWS).map((row) => {
    const problem = rowProblem(row, mapping);
    const found = refused.find(({ number }) => number === row.number)?.errors;
    const errors: Readonly<Record<string, string>> = problem === undefined ? (found ?? {}) : { row: problem };
    return { ...row, errors };
  });
  return (
    <div class="table-box" tabindex={0} role="region" aria-label={texts.imports.preview}>
      <table class="plain-table">
        <caption>
          {texts.imports.previewCaption(shown.length.toLocaleString(locale), rows.length.toLocaleString(locale))}
        </caption>
        <thead>
          <tr>
            <th scope="col">{texts.imports.row}</th>
            {columns.map(({ i, name }) => (
              <th key={i} scope="col">
                {fieldLabel(resource, name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map(({ number, cells, errors }) => (
            <tr key={number}>
              <td>
                {number}
                {errors.row && <p class="bad-text">{errors.row}</p>}
              </td>
              {columns.map(({ i, name }) => (
                <td key={i}>
                  {cells[i]?.slice(0, 200)}
                  {Object.hasOwn(errors, name) && <p class="bad-text">{errors[name]}</p>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
