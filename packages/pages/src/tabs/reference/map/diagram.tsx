import { useMemo } from 'preact/hooks';
import { IconButton, type ResourceInfo } from '../../../console/kit.ts';
import { texts } from '../texts.ts';
import { boxOf, edgesOf, matchesText } from './boxes.ts';
import { BoxDrawing, EdgeDrawing } from './drawings.tsx';
import { layOut } from './layout.ts';
import type { MappedResource } from './resource-map.ts';
import { useDrag, useView } from './use-view.ts';
import { areaOf, READABLE_SCALE } from './view.ts';

const STEP = 60;
const ZOOM = 1.25;

/** How far each arrow key moves the drawing. */
const KEYS = new Map([
  ['ArrowLeft', { x: STEP, y: 0 }],
  ['ArrowRight', { x: -STEP, y: 0 }],
  ['ArrowUp', { x: 0, y: STEP }],
  ['ArrowDown', { x: 0, y: -STEP }],
]);

interface MapProps {
  resources: readonly ResourceInfo[];
  mapped: readonly MappedResource[];
  showFields: boolean;
  selected: string | undefined;
  search: string;
}

/** Places the boxes and edges. Edges to resources that have no box are left out. */
function useDrawing({ resources, mapped, showFields }: MapProps) {
  return useMemo(() => {
    const byName = new Map(mapped.map((one) => [one.name, one]));
    const unplaced = resources.flatMap((resource) => {
      const own = byName.get(resource.name);
      return own === undefined ? [] : [boxOf(resource, own, showFields)];
    });
    const references = edgesOf(mapped);
    const drawing = layOut(unplaced, references);
    const boxes = new Map(drawing.boxes.map((box) => [box.id, box]));
    const edges = references.flatMap((edge) => {
      const [from, to] = [boxes.get(edge.from), boxes.get(edge.to)];
      return from === undefined || to === undefined ? [] : [{ edge, from, to }];
    });
    return { boxes, edges };
  }, [resources, mapped, showFields]);
}

type Drawing = ReturnType<typeof useDrawing>;

/** The selected box, and its area with its neighbours. */
function findSelection({ boxes, edges }: Drawing, selected: string | undefined) {
  const box = selected === undefined ? undefined : boxes.get(selected);
  if (box === undefined) return undefined;
  const around = edges.flatMap(({ from, to }) => (from === box || to === box ? [from, to] : []));
  const near = new Set([box, ...around]);
  return { box, near, area: areaOf([...near]) };
}

function Arrow() {
  return (
    <defs>
      <marker id="reference-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
        <path d="M0,0.5 L8,4 L0,7.5 Z" />
      </marker>
    </defs>
  );
}

function Legend() {
  return (
    <p class="reference-legend" aria-hidden="true">
      {Object.entries(texts.map.legend).map(([kind, text]) => (
        <span key={kind} class={`reference-legend-item ${kind}`}>
          {text}
        </span>
      ))}
      <span>{texts.map.required}</span>
      <span>{texts.map.unique}</span>
      <span class="reference-hint">{texts.map.hint}</span>
    </p>
  );
}

function ZoomButtons({ zoom, showAll }: Pick<ReturnType<typeof useView>, 'zoom' | 'showAll'>) {
  return (
    <div class="reference-zoom" role="group" aria-label={texts.map.zoom}>
      <IconButton icon="add" label={texts.map.zoomIn} onClick={() => zoom(ZOOM)} />
      <IconButton icon="minus" label={texts.map.zoomOut} onClick={() => zoom(1 / ZOOM)} />
      <IconButton icon="fit" label={texts.map.showAll} onClick={showAll} />
    </div>
  );
}

/** The drawing of the resources and their references. Screen readers get the list beside it instead. */
export function Diagram({ onSelect, ...map }: MapProps & { onSelect: (name: string) => void }) {
  const { resources, selected, search } = map;
  const drawing = useDrawing(map);
  const boxes = [...drawing.boxes.values()];
  const selection = findSelection(drawing, selected);
  const { frame, view, showAll, move, zoom } = useView(areaOf(boxes), selection);
  const { handlers, wasDragged } = useDrag(move);
  const found = new Set(resources.filter((resource) => matchesText(resource, search)).map(({ name }) => name));
  const boxState = (box: (typeof boxes)[number]) => {
    if (box === selection?.box) return 'selected';
    const isFaded = (search.trim() !== '' && !found.has(box.id)) || selection?.near.has(box) === false;
    return isFaded ? 'faded' : '';
  };
  const edgeState = ({ from, to }: Drawing['edges'][number]) => {
    if (selection === undefined) return '';
    return from === selection.box || to === selection.box ? 'near' : 'faded';
  };
  const handleKey = (event: KeyboardEvent) => {
    const step = KEYS.get(event.key);
    if (step !== undefined) move((before) => ({ ...before, x: before.x + step.x, y: before.y + step.y }));
    else if (event.key === '+' || event.key === '=') zoom(ZOOM);
    else if (event.key === '-') zoom(1 / ZOOM);
    else if (event.key === '0') showAll();
    else return;
    event.preventDefault();
  };
  const select = (name: string) => {
    if (!wasDragged.current) onSelect(name);
  };
  const isSmall = view.scale < READABLE_SCALE;
  return (
    <div class="reference-diagram">
      <div
        class="reference-frame"
        ref={frame}
        tabindex={0}
        role="group"
        aria-label={texts.map.drawing}
        onKeyDown={handleKey}
        {...handlers}
      >
        <svg width="100%" height="100%" aria-hidden="true">
          <Arrow />
          <g transform={`translate(${view.x},${view.y}) scale(${view.scale})`}>
            {drawing.edges.map((one) => (
              <EdgeDrawing key={one.edge.id} {...one} state={edgeState(one)} />
            ))}
            {boxes.map((box) => (
              <BoxDrawing key={box.id} box={box} state={boxState(box)} isSmall={isSmall} onSelect={select} />
            ))}
          </g>
        </svg>
      </div>
      <ZoomButtons zoom={zoom} showAll={showAll} />
      <Legend />
    </div>
  );
}
