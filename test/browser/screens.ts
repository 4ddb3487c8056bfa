import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { keepScreenshot } from './browser.ts';

/**
 * Elements that are wider than the page, or outside of it, which must not exist. What is in an element that scrolls sideways may be outside,
 * and text cut with an ellipsis may be longer.
 */
const overflowing = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const scrolls = (one) => ['auto', 'scroll'].includes(getComputedStyle(one).overflowX);
    const isInScroller = (one) => {
      for (let at = one.parentElement; at !== null && at !== document.body; at = at.parentElement)
        if (scrolls(at)) return true;
      return false;
    };
    const wide = [...document.querySelectorAll('body *')].filter((one) => {
      const { left, right, width } = one.getBoundingClientRect();
      return width > 0 && (right > clientWidth + 0.5 || left < -0.5) && !isInScroller(one);
    });
    return [
      ...(scrollWidth > clientWidth ? ['the page: ' + scrollWidth + ' of ' + clientWidth] : []),
      ...wide.map((one) => one.tagName + '.' + one.className),
    ];
  })()`);

/**
 * Texts whose contrast is below WCAG AA: 4.5 to 1, or 3 to 1 for large letters. The background of a text is the nearest opaque
 * colour; for a gradient, each of its colours.
 */
const faintTexts = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    // The colours of color-mix() are fractions: color(srgb 0.5 0.5 0.5).
    const numbers = (text) => text.match(/[\\d.]+/g).map((part) => Number(part) * (text.startsWith('color(srgb') ? 255 : 1));
    const linear = (part) => (part <= 10.31475 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4);
    const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    const contrast = (a, b) => {
      const [low, high] = [luminance(a), luminance(b)].sort((one, other) => one - other);
      return (high + 0.05) / (low + 0.05);
    };
    const behind = (one) => {
      for (let at = one; at !== null; at = at.parentElement) {
        const { backgroundColor, backgroundImage } = getComputedStyle(at);
        const stops = backgroundImage.match(/rgb\\([^)]*\\)/g);
        if (stops) return stops.map(numbers);
        const colour = numbers(backgroundColor);
        if (colour.length === 3) return [colour];
      }
      return [[255, 255, 255]];
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const faint = [];
    while (walker.nextNode()) {
      const one = walker.currentNode.parentElement;
      if (walker.currentNode.data.trim() === '' || !one.checkVisibility() || one.closest('noscript, option')) continue;
      const { color, fontSize } = getComputedStyle(one);
      const least = Math.min(...behind(one).map((colour) => contrast(numbers(color), colour)));
      const needed = parseFloat(fontSize) >= 24 ? 3 : 4.5;
      if (least < needed) faint.push(walker.currentNode.data.slice(0, 30) + ' (' + one.className + '): ' + least.toFixed(2));
    }
    return faint;
  })()`);

/**
 * The texts of a page that contain a word which is English and not German. Code, and what `except` selects, such as texts of the app, are left out.
 */
export const findEnglish = (page: Page, except = 'code'): Promise<string[]> =>
  page.evaluate(`(() => {
    const word = /(^|[^\\w])(the|of|and|is|are|this|your|you|not|has|with|for|from|it|to|no|yes|by|all|at)([^\\w]|$)/i;
    const skipped = 'code, pre, script, style, noscript, [lang="en"], ' + ${JSON.stringify(except)};
    const texts = [...document.querySelectorAll('body, body *')]
      .filter((one) => one.closest(skipped) === null)
      .flatMap((one) => [
        ...[...one.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE).map(({ data }) => data.trim()),
        ...['aria-label', 'title', 'placeholder', 'alt'].map((name) => one.getAttribute(name) ?? ''),
      ]);
    return texts.filter((text) => word.test(text));
  })()`);

/** Widths for axe, which takes long: the narrow and the wide layout. */
const AXE_WIDTHS = [360, 1280];

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Returns what axe-core finds on a page. In dark mode it checks the rules about colours alone, because the rest of the page is the same. */
async function findViolations(page: Page, colorScheme: 'light' | 'dark'): Promise<string[]> {
  const options = {
    resultTypes: ['violations'],
    // axe is not loaded in frames, and would wait for their answers.
    iframes: false,
    selectors: false,
    ...(colorScheme === 'dark' && { runOnly: ['color-contrast', 'link-in-text-block'] }),
  };
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

/**
 * Checks what a page shows now in light and in dark mode: nothing is wider than the page, every text has enough contrast, and axe-core
 * finds nothing in the narrow and the wide layout. Keeps a screenshot of each if TEST_SCREENSHOTS is set.
 */
export async function checkScreens(page: Page, name: string, widths = [360, 390, 1280, 1920]): Promise<void> {
  // `evaluate` works although the policy of the page allows no inline script.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(AXE);
  for (const width of widths) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const options = { message: `${name}, ${width}, ${colorScheme}`, timeout: 30_000 };
      // Lists and tables follow the width of the page a moment later.
      await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
      await expect.poll(() => overflowing(page), options).toEqual([]);
      await expect.poll(() => faintTexts(page), options).toEqual([]);
      if (AXE_WIDTHS.includes(width)) await expect.poll(() => findViolations(page, colorScheme), options).toEqual([]);
      await keepScreenshot(page, `${name}-${width}-${colorScheme}`);
    }
  }
}
