import { readableTextOn } from '../../extension/index.ts';
import type { Theme } from './settings.ts';

type Colors = Omit<Theme, 'radius' | 'dark'>;

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
