import type { RefObject } from 'preact';
import { type Dispatch, type StateUpdater, useEffect, useRef, useState } from 'preact/hooks';
import { type Area, fitView, type Point, type Size, selectionView, type View, zoomView } from './view.ts';

/** The part of a drawing that is visible, and how to change it. */
interface ViewControls {
  /** The element that shows the drawing. */
  frame: RefObject<HTMLDivElement | null>;
  view: View;
  showAll: () => void;
  move: Dispatch<StateUpdater<View>>;
  /** Zooms around a point, by default the centre. */
  zoom: (factor: number, point?: Point) => void;
}

/**
 * Pans and zooms.
 *
 * @param all the area of the whole drawing
 * @param selection the selected box, and its area with its neighbours; undefined: all is shown until the user moves the drawing
 */
export function useView(all: Area, selection: { box: Area & { id: string }; area: Area } | undefined): ViewControls {
  const frame = useRef<HTMLDivElement>(null);
  const size = useRef<Size>({ width: 0, height: 0 });
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 });
  const isMoved = useRef(false);
  const show = (isWhole: boolean) => {
    isMoved.current = false;
    if (size.current.width === 0) return;
    setView(
      isWhole || selection === undefined
        ? fitView(all, size.current)
        : selectionView(selection.box, selection.area, size.current),
    );
  };
  const move: ViewControls['move'] = (change) => {
    isMoved.current = true;
    setView(change);
  };
  const zoom: ViewControls['zoom'] = (factor, point = { x: size.current.width / 2, y: size.current.height / 2 }) =>
    move((before) => zoomView(before, factor, point));
  const key = JSON.stringify([all, selection?.box.id]);
  useEffect(() => show(false), [key]);
  useEffect(() => {
    const observer = new ResizeObserver((entries) => {
      for (const { contentRect } of entries) size.current = { width: contentRect.width, height: contentRect.height };
      if (!isMoved.current) show(false);
    });
    if (frame.current !== null) observer.observe(frame.current);
    return () => observer.disconnect();
  }, [key]);
  useWheel(frame, (event, { left, top }) => {
    if (event.ctrlKey || event.metaKey)
      zoom(Math.exp(-event.deltaY / 200), { x: event.clientX - left, y: event.clientY - top });
    else move((before) => ({ ...before, x: before.x - event.deltaX, y: before.y - event.deltaY }));
  });
  return { frame, view, showAll: () => show(true), move, zoom };
}

/** Handles the wheel. Preact's listeners are passive for wheel events, so that they cannot keep the page from scrolling. */
function useWheel(frame: ViewControls['frame'], handle: (event: WheelEvent, frame: DOMRect) => void): void {
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const turn = (event: WheelEvent) => {
      event.preventDefault();
      handle(event, element.getBoundingClientRect());
    };
    element.addEventListener('wheel', turn, { passive: false });
    return () => element.removeEventListener('wheel', turn);
  }, []);
}

/** Moves the drawing with the pointer. A short movement is a click. */
export function useDrag(move: ViewControls['move']) {
  const start = useRef<Point>(null);
  const wasDragged = useRef(false);
  const end = () => {
    start.current = null;
  };
  return {
    wasDragged,
    handlers: {
      onPointerDown: (event: PointerEvent) => {
        if (event.button !== 0) return;
        start.current = { x: event.clientX, y: event.clientY };
        wasDragged.current = false;
      },
      onPointerMove: (event: PointerEvent & { currentTarget: Element }) => {
        if (start.current === null) return;
        const [dx, dy] = [event.clientX - start.current.x, event.clientY - start.current.y];
        if (!wasDragged.current && Math.hypot(dx, dy) < 5) return;
        if (!wasDragged.current) event.currentTarget.setPointerCapture(event.pointerId);
        wasDragged.current = true;
        start.current = { x: event.clientX, y: event.clientY };
        move((before) => ({ ...before, x: before.x + dx, y: before.y + dy }));
      },
      onPointerUp: end,
      onPointerCancel: end,
    },
  };
}
