import { texts } from '../texts.ts';
import type { ReferenceEdge, ResourceBox } from './boxes.ts';
import { edgePath, type Placed } from './layout.ts';

const EDGE_SHIFT = 9;
const MAX_NAME = 17;
const MAX_TYPE = 14;
const MAX_POLICY = 32;
const MAX_LABEL = 26;
/** Of a name that is shown large, in letters. */
const MAX_LARGE_NAME = 28;
const MAX_LINE = 12;

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

/** A name on one line, or on two if it is long and consists of several words. */
function linesOf(label: string): string[] {
  const text = cut(label, MAX_LARGE_NAME);
  const middle = text.length / 2;
  const gaps = [...text.matchAll(/ /g)].map(({ index }) => index);
  const [gap] = gaps.toSorted((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
  return text.length <= MAX_LINE || gap === undefined ? [text] : [text.slice(0, gap), text.slice(gap + 1)];
}

/** The name of a resource, as large as its box allows. */
function LargeName({ box: { label, width, height } }: { box: ResourceBox }) {
  const lines = linesOf(label);
  const longest = Math.max(...lines.map(({ length }) => length));
  const size = Math.min(30, (width - 16) / (0.58 * longest), (height - 6) / (1.1 * lines.length));
  return lines.map((line, index) => (
    <text
      key={line}
      class="reference-box-name"
      x={width / 2}
      y={height / 2 + (index - (lines.length - 1) / 2) * size * 1.1}
      text-anchor="middle"
      dominant-baseline="central"
      style={{ fontSize: `${size}px` }}
    >
      {line}
    </text>
  ));
}

function Rows({ box: { rows, more, width } }: { box: ResourceBox }) {
  return (
    <>
      {rows.length > 0 && <path class="reference-box-line" d={`M0,30 H${width}`} />}
      {rows.map((row, index) => (
        <g key={row.name} transform={`translate(0,${46 + index * 19})`}>
          <text x="12" class={row.isReference ? 'reference-box-ref' : ''}>
            {cut(row.name, MAX_NAME)}
            {row.marks}
          </text>
          <text x={width - 12} text-anchor="end" class="reference-box-type">
            {cut(row.text, MAX_TYPE)}
          </text>
        </g>
      ))}
      {more > 0 && (
        <text x="12" y={46 + rows.length * 19} class="reference-box-type">
          {texts.map.more(more)}
        </text>
      )}
    </>
  );
}

/** The name of a resource with its fields, or with the summary in their place. */
function BoxContent({ box }: { box: ResourceBox }) {
  const { label, policy, summary, width, height } = box;
  return (
    <>
      <text class="reference-box-name" x="12" y="20">
        {cut(label, MAX_LABEL)}
      </text>
      {summary && (
        <text class="reference-box-type" x="12" y="38">
          {summary}
        </text>
      )}
      <Rows box={box} />
      {policy && (
        <>
          <path class="reference-box-line" d={`M0,${height - 24} H${width}`} />
          <text x="12" y={height - 8} class="reference-box-type">
            {cut(policy, MAX_POLICY)}
          </text>
        </>
      )}
    </>
  );
}

/** The box of a resource. Where its text would be too small, it has only the name. */
export function BoxDrawing({
  box,
  state,
  isSmall,
  onSelect,
}: {
  box: Placed<ResourceBox>;
  state: string;
  isSmall: boolean;
  onSelect: (name: string) => void;
}) {
  const { id, x, y, width, height } = box;
  return (
    <g class={`reference-box ${state}`} transform={`translate(${x},${y})`} onClick={() => onSelect(id)}>
      <title>{id}</title>
      <rect width={width} height={height} rx="9" />
      {isSmall ? <LargeName box={box} /> : <BoxContent box={box} />}
    </g>
  );
}

/** The line of a reference from one box to another. */
export function EdgeDrawing({
  edge,
  from,
  to,
  state,
}: {
  edge: ReferenceEdge;
  from: Placed<ResourceBox>;
  to: Placed<ResourceBox>;
  state: string;
}) {
  const { field, many, onDelete, number } = edge;
  const path = edgePath(from, to, number * EDGE_SHIFT);
  const reference = `${from.id}.${field} → ${to.id}${many ? ` ${texts.map.list}` : ''}`;
  return (
    <g class={`reference-edge ${onDelete} ${state}`}>
      <title>{texts.map.edge(reference, from.id, texts.map.onDelete[onDelete])}</title>
      <path class="reference-edge-hit" d={path} />
      <path d={path} marker-end="url(#reference-arrow)" />
    </g>
  );
}
