import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { texts } from '../texts.ts';

/** Below this width in pixels per column, a table is shown as cards. */
const COLUMN_WIDTH = 110;
/** Below this width in pixels, every table is shown as cards. It is the room on a screen of 480. */
const MIN_WIDTH = 448;

/** A column of a table. */
export interface TableColumn<Row> {
  name: string;
  /** Empty: a column of actions. */
  label: string;
  render: (row: Row) => ComponentChildren;
  isNumber?: boolean;
}

const readId = (row: object) => ('id' in row ? row.id : undefined);

/** A table of rows, which becomes a list of cards where there is no room for it. */
export function DataTable<Row extends object>({
  label,
  rows,
  columns,
  keyOf = readId,
}: {
  label: string;
  rows: readonly Row[];
  /** The first column names the row. */
  columns: readonly TableColumn<Row>[];
  /** Default: the `id` of the row. */
  keyOf?: (row: Row) => unknown;
}) {
  const container = useRef<HTMLDivElement>(null);
  const [isCards, setCards] = useState(false);
  useEffect(() => {
    const observer = new ResizeObserver((entries) =>
      setCards((entries[0]?.contentRect.width ?? 0) < Math.max(MIN_WIDTH, columns.length * COLUMN_WIDTH)),
    );
    if (container.current) observer.observe(container.current);
    return () => observer.disconnect();
  }, [columns.length]);
  const renderCell = (row: Row, { name, label: columnLabel, render, isNumber }: TableColumn<Row>, index: number) => (
    <td role="cell" key={name} class={[index === 0 && 'name', isNumber && 'number'].filter(Boolean).join(' ')}>
      {index > 0 && columnLabel !== '' && (
        <span class="cell-label" aria-hidden="true">
          {columnLabel}
        </span>
      )}
      <span class="cell">{render(row)}</span>
    </td>
  );
  return (
    <div class="table-box" ref={container}>
      <table role="table" class={`rows ${isCards ? 'cards' : ''}`} aria-label={label}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, label: columnLabel, isNumber }) => (
              <th key={name} scope="col" role="columnheader" class={isNumber ? 'number' : ''}>
                {columnLabel === '' ? <span class="visually-hidden">{texts.components.actions}</span> : columnLabel}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr role="row" key={keyOf(row)}>
              {columns.map((column, index) => renderCell(row, column, index))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
