import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** Elements that are partly outside of the page, which must not exist. A box within the page may scroll, and text cut with an ellipsis may be longer. */
const overflowing = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const scrolls = (one) => ['auto', 'scroll'].includes(getComputedStyle(one).overflowX);
    const isInScrollBox = (one) => {
      for (let at = one.parentElement; at !== document.body; at = at.parentElement) if (scrolls(at)) return true;
      return false;
    };
    const wide = [...document.querySelectorAll('body *')].filter((one) => {
      const { left, right, width } = one.getBoundingClientRect();
      return width > 0 && (right > clientWidth + 0.5 || left < -0.5) && !isInScrollBox(one);
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

/** Checks that nothing is wider than the page, and that every text has enough contrast. */
export async function expectReadable(page: Page): Promise<void> {
  expect(await overflowing(page)).toEqual([]);
  expect(await faintTexts(page)).toEqual([]);
}
