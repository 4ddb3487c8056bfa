import type { Theme } from './settings.ts';

type Colors = Omit<Theme, 'radius' | 'dark'>;

const expandHex = (color: string) => (color.length === 4 ? color.replaceAll(/[0-9a-f]/gi, '$&$&') : color);

/** The relative luminance of a hex colour, from 0 to 1 (WCAG 2.2). */
function luminanceOf(color: string): number {
  const hex = expandHex(color);
  const [red, green, blue] = [1, 3, 5].map((start) => {
    const value = Number.parseInt(hex.slice(start, start + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

/** Returns black or white, whichever has the higher contrast to the colour. It is at least 4.5 for every colour. */
function readableTextOn(color: string): string {
  const luminance = luminanceOf(color);
  return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 ? '#ffffff' : '#000000';
}

function declareColors({ accent, background, surface, text }: Colors): string[] {
  return [
    ...(accent === undefined ? [] : [`--accent: ${accent}`, `--accent-text: ${readableTextOn(accent)}`]),
    ...(background === undefined ? [] : [`--background: ${background}`]),
    ...(surface === undefined ? [] : [`--surface: ${surface}`]),
    ...(text === undefined ? [] : [`--text: ${text}`]),
  ];
}

const createRule = (declarations: string[]) =>
  declarations.length === 0 ? '' : `:root {\n${declarations.map((each) => `  ${each};\n`).join('')}}\n`;

/** Returns a theme as a stylesheet that sets the custom properties of the pages. Colours other than `accent` apply to light pages only. */
export function createThemeCss({ radius, dark = {}, ...light }: Theme = {}): string {
  const { accent, ...lightOnly } = light;
  const shared = [...declareColors({ accent }), ...(radius === undefined ? [] : [`--radius: ${radius}px`])];
  const onlyLight = createRule(declareColors(lightOnly));
  const onlyDark = createRule(declareColors(dark));
  return [
    createRule(shared),
    onlyLight === '' ? '' : `@media not (prefers-color-scheme: dark) {\n${onlyLight}}\n`,
    onlyDark === '' ? '' : `@media (prefers-color-scheme: dark) {\n${onlyDark}}\n`,
  ].join('');
}
