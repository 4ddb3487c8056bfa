import type { RefObject } from 'preact';
import { useRef } from 'preact/hooks';
import { Icon } from '../../../kit/icons.tsx';
import { place, setParams } from '../../router.ts';
import { texts } from '../../texts.ts';
import type { Labels, ResourceInfo, StoredRecord, Titles } from '../app-info.ts';
import { Value } from '../format.tsx';
import { type Column, columnValue, dataHref, fieldValue, labelOf } from '../schema.ts';
import { shownColumns } from './columns.ts';
import { type RecordList, useWidth } from './list-data.ts';
import { nextSort, sortOf } from './query.ts';

/** The least width of a column, in pixels. */
const COLUMN_WIDTH = 150;
/** A date with its year and the time of day is never cut. */
const DATE_WIDTH = 200;
const SELECT_WIDTH = 40;
/** Columns of a list unless the user chose some. */
const MAX_COLUMNS = 9;
/** Below this width, records are cards. */
const CARDS_BELOW = 600;
const CARD_FIELDS = 5;
const SKELETON_ROWS = 8;

/** The width that columns need. @param least of those that are no dates */
const widthOf = (columns: readonly Column[], least: number) =>
  columns.reduce((sum, { type }) => sum + (type === 'date' ? DATE_WIDTH : least), SELECT_WIDTH);

/** Whether a column takes what the others leave. */
const isFlexible = ({ type }: Column) => type !== 'date' && type !== 'boolean';

/** The columns to show: those that the user chose, or as many as fit. */
function useColumns(resource: ResourceInfo, container: RefObject<Element | null>) {
  const width = useWidth(container);
  const isCards = width > 0 && width < CARDS_BELOW;
  const { params } = place.value;
  if (isCards) return { columns: shownColumns(resource, params, CARD_FIELDS), isCards, minWidth: undefined };
  let count = Math.min(Math.floor((Math.max(width, COLUMN_WIDTH) - SELECT_WIDTH) / COLUMN_WIDTH), MAX_COLUMNS);
  let columns = shownColumns(resource, params, count);
  // Dates take more than their share of the width.
  while (count > 1 && columns.length === count && widthOf(columns, COLUMN_WIDTH) > width)
    columns = shownColumns(resource, params, --count);
  return { columns, isCards, minWidth: widthOf(columns, COLUMN_WIDTH - 20) };
}

interface HeaderCellProps {
  resource: ResourceInfo;
  column: Column;
  /** The first column has its own share of the width. */
  hasShare: boolean;
}

function HeaderCell({ resource, column, hasShare }: HeaderCellProps) {
  const { params } = place.value;
  const sort = sortOf(resource, params);
  const isSorted = sort.name === column.name;
  const direction = sort.isDescending ? 'descending' : 'ascending';
  const change = () => setParams({ sort: nextSort(resource, params, column.name), after: undefined });
  return (
    <th
      scope="col"
      role="columnheader"
      aria-sort={isSorted ? direction : undefined}
      class={`type-${column.type} ${hasShare ? 'first' : ''}`}
      style={column.type === 'date' ? { width: `${DATE_WIDTH}px` } : undefined}
    >
      {column.sortable ? (
        <button type="button" class="sort" onClick={change} title={texts.list.sortByField(column.label)}>
          <span>{column.label}</span>
          {isSorted && <Icon name={sort.isDescending ? 'arrowDown' : 'arrowUp'} size={12} />}
        </button>
      ) : (
        <span>{column.label}</span>
      )}
    </th>
  );
}

interface NameCellProps {
  resource: ResourceInfo;
  column: Column;
  record: StoredRecord;
  labels: Labels | undefined;
  titles: Titles | undefined;
}

/** The cell that names the record, and links to it. */
function NameCell({ resource, column, record, labels, titles }: NameCellProps) {
  const isLabel = column.name === resource.labelField;
  const href = dataHref([resource.name, record.id]);
  const value = columnValue(column, record, titles);
  const isLinkable = isLabel || !['ref', 'refs', 'array'].includes(column.type);
  return (
    <a class="row-link" href={href} aria-label={texts.list.open(labelOf(record, titles))}>
      {isLinkable && value !== null && value !== undefined && value !== '' ? (
        <Value field={column} value={value} labels={labels} />
      ) : (
        labelOf(record, titles)
      )}
    </a>
  );
}

interface RowProps extends Omit<NameCellProps, 'column'> {
  columns: readonly Column[];
  isSelected: boolean;
  isChanged: boolean;
  onSelect: (id: string, isRange: boolean) => void;
}

function Row({ resource, columns, record, labels, titles, isSelected, isChanged, onSelect }: RowProps) {
  const [first, ...rest] = columns;
  if (first === undefined) return null;
  const isDeleted = fieldValue(record, 'deletedAt') != null;
  const className = [isSelected && 'selected', isChanged && 'changed', isDeleted && 'deleted']
    .filter(Boolean)
    .join(' ');
  return (
    <tr role="row" class={className} data-id={record.id}>
      <td role="cell" class="select">
        <input
          type="checkbox"
          aria-label={texts.list.select(labelOf(record, titles))}
          checked={isSelected}
          onClick={(event) => onSelect(record.id, event.shiftKey)}
        />
      </td>
      <td role="cell" class={`name type-${first.type}`}>
        <NameCell resource={resource} column={first} record={record} labels={labels} titles={titles} />
        {isDeleted && <span class="chip deleted-mark">{texts.list.deleted}</span>}
      </td>
      {rest.map((column) => (
        <td role="cell" key={column.name} class={`type-${column.type}`}>
          <span class="cell-label" aria-hidden="true">
            {column.label}
          </span>
          <span class="cell">
            <Value field={column} value={columnValue(column, record, titles)} labels={labels} />
          </span>
        </td>
      ))}
    </tr>
  );
}

/** Rows of the height of records, so that the page does not move when the records arrive. */
const Skeleton = ({ columns }: { columns: readonly Column[] }) => (
  <>
    {Array.from({ length: SKELETON_ROWS }, (_, index) => (
      // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row without controls takes no focus
      <tr key={index} class="skeleton" aria-hidden="true">
        <td class="select"></td>
        {columns.map(({ name }) => (
          <td key={name}>
            <span class="bone"></span>
          </td>
        ))}
      </tr>
    ))}
  </>
);

/** The records of a list: a table, or cards where there is no room for a table. */
export function RecordTable({
  resource,
  list: { rows, meta, isLoading, changed },
  selected,
  onSelect,
  onSelectAll,
}: Pick<RowProps, 'resource' | 'onSelect'> & {
  list: RecordList;
  selected: ReadonlySet<string>;
  onSelectAll: (isSelected: boolean) => void;
}) {
  const container = useRef<HTMLDivElement>(null);
  const { columns, isCards, minWidth } = useColumns(resource, container);
  // Beside two dates it would leave the others too little.
  const firstHasShare = columns.slice(1).some(isFlexible) && columns.filter(({ type }) => type === 'date').length < 2;
  const areAllSelected = rows !== undefined && rows.length > 0 && rows.every(({ id }) => selected.has(id));
  return (
    <div class="table-box" ref={container} tabindex={isCards ? undefined : -1}>
      <table
        role="table"
        class={isCards ? 'cards' : 'wide'}
        style={minWidth === undefined ? undefined : { minWidth: `${minWidth}px` }}
        aria-busy={isLoading ? 'true' : 'false'}
        aria-label={resource.plural}
      >
        <thead role="rowgroup">
          <tr role="row">
            <th scope="col" role="columnheader" class="select">
              <input
                type="checkbox"
                aria-label={texts.list.selectAll}
                checked={areAllSelected}
                onClick={() => onSelectAll(!areAllSelected)}
              />
            </th>
            {columns.map((column, index) => (
              <HeaderCell
                key={column.name}
                resource={resource}
                column={column}
                hasShare={index === 0 && firstHasShare}
              />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows === undefined ? (
            <Skeleton columns={columns} />
          ) : (
            rows.map((record) => (
              <Row
                key={record.id}
                resource={resource}
                columns={columns}
                record={record}
                labels={meta.labels}
                titles={meta.titles}
                isSelected={selected.has(record.id)}
                isChanged={changed.has(record.id)}
                onSelect={onSelect}
              />
            ))
          )}
        </tbody>
      </table>
    </div>
  );
}
