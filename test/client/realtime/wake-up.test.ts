import { afterEach, expect, test, vi } from 'vitest';
import { watchWakeUps } from '../../../src/client/realtime/hub.ts';

afterEach(() => void vi.unstubAllGlobals());

/** Stands for the window and the document of a page, which Node lacks. */
function stubPage() {
  const page = new EventTarget();
  const document = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page));
  vi.stubGlobal('document', document);
  return { page, document };
}

test('connections are checked when the device is online again, and when its user returns to the page', () => {
  const { page, document } = stubPage();
  const wake = vi.fn();
  const stop = watchWakeUps(wake);
  page.dispatchEvent(new Event('online'));
  expect(wake).toHaveBeenCalledTimes(1);
  document.visibilityState = 'hidden';
  document.dispatchEvent(new Event('visibilitychange'));
  expect(wake).toHaveBeenCalledTimes(1);
  document.visibilityState = 'visible';
  document.dispatchEvent(new Event('visibilitychange'));
  expect(wake).toHaveBeenCalledTimes(2);
  stop();
  page.dispatchEvent(new Event('online'));
  document.dispatchEvent(new Event('visibilitychange'));
  expect(wake).toHaveBeenCalledTimes(2);
});

test('outside of browsers, nothing is watched', () => {
  const wake = vi.fn();
  watchWakeUps(wake)();
  expect(wake).not.toHaveBeenCalled();
});
