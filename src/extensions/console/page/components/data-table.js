import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Below this width in pixels per column, a table is shown as cards. */
const COLUMN_WIDTH = 110;
/** Below this width in pixels, every table is shown as cards. It is the room on a screen of 480. */
const MIN_WIDTH = 448;

/**
 * A table of rows, which becomes a list of cards where there is no room for it.
 *
 * @param {{ label: string, rows: any[], columns: { name: string, label: string, render: (row: any) => any, isNumber?: boolean }[],
 *   keyOf?: (row: any) => string }} props the first column names the row; `keyOf`: default the `id` of the row
 */
export function DataTable({ label, rows, columns, keyOf = ({ id }) => id }) {
  const container = useRef(null);
  const [isCards, setCards] = useState(false);
  useEffect(() => {
    const observer = new ResizeObserver(([{ contentRect }]) =>
      setCards(contentRect.width < Math.max(MIN_WIDTH, columns.length * COLUMN_WIDTH)),
    );
    observer.observe(container.current);
    return () => observer.disconnect();
  }, [columns.length]);
  const renderCell = (row, { name, label: columnLabel, render, isNumber }, index) => html`<td
    role="cell"
    key=${name}
    class=${[index === 0 && 'name', isNumber && 'number'].filter(Boolean).join(' ')}
  >
    ${index > 0 && columnLabel !== '' && html`<span class="cell-label" aria-hidden="true">${columnLabel}</span>`}
    <span class="cell">${render(row)}</span>
  </td>`;
  return html`<div class="table-box" ref=${container}>
    <table role="table" class=${`rows ${isCards ? 'cards' : ''}`} aria-label=${label}>
      <thead role="rowgroup">
        <tr role="row">
          ${columns.map(
            ({ name, label: columnLabel, isNumber }) => html`<th
              key=${name}
              scope="col"
              role="columnheader"
              class=${isNumber ? 'number' : ''}
            >
              ${columnLabel === '' ? html`<span class="visually-hidden">Actions</span>` : columnLabel}
            </th>`,
          )}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map((row) => html`<tr role="row" key=${keyOf(row)}>${columns.map((column, index) => renderCell(row, column, index))}</tr>`)}
      </tbody>
    </table>
  </div>`;
}
