import { z } from 'zod';

const COLOR_ERROR = 'must be a colour in hex, such as #1e66f5';
const color = z.string({ error: COLOR_ERROR }).regex(/^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i, { error: COLOR_ERROR });

/** The colours of a page, as settings. Only hex colours, so that they can contain no CSS. */
export const colorSettings = {
  /** The main button. The text on it is black or white, whichever is easier to read. */
  accent: color.optional(),
  /** The page. */
  background: color.optional(),
  /** Cards. */
  surface: color.optional(),
  text: color.optional(),
};

const expandHex = (hex: string) => (hex.length === 4 ? hex.replaceAll(/[0-9a-f]/gi, '$&$&') : hex);

/** The relative luminance of a hex colour, from 0 to 1 (WCAG 2.2). */
function luminanceOf(hex: string): number {
  const digits = expandHex(hex);
  const [red, green, blue] = [1, 3, 5].map((start) => {
    const value = Number.parseInt(digits.slice(start, start + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

/** Returns black or white, whichever has the higher contrast to the hex colour. It is at least 4.5 for every colour. */
function readableTextOn(hex: string): string {
  const luminance = luminanceOf(hex);
  return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 ? '#ffffff' : '#000000';
}

type Colors = Partial<Record<keyof typeof colorSettings, string | undefined>>;

/** Returns the custom properties of the colours of one mode. */
function declareColors(mode: 'light' | 'dark', { accent, ...others }: Colors): string[] {
  const accentText = accent === undefined ? undefined : readableTextOn(accent);
  return Object.entries({ accent, 'accent-text': accentText, ...others }).flatMap(([name, value]) =>
    value === undefined ? [] : [`  --${mode}-${name}: ${value};\n`],
  );
}

/**
 * Returns colours as a stylesheet that sets the tokens of a page. Without an accent for dark pages, that of light ones holds for both; other
 * colours hold for light pages only.
 *
 * @param radius of corners, in px
 */
export function createThemeCss({
  dark = {},
  radius,
  ...light
}: Colors & { dark?: Colors; radius?: number } = {}): string {
  const darkColors = { ...(light.accent === undefined ? {} : { accent: light.accent }), ...dark };
  const corners = radius === undefined ? [] : [`  --radius: ${radius}px;\n`];
  return `:root {\n${[...declareColors('light', light), ...declareColors('dark', darkColors), ...corners].join('')}}\n`;
}

const PATH_CHARACTERS = /^\/[\w\-.~%/?=&#+,:@!*]*$/;

/** Whether a text is a path of this origin, whatever a browser does with dots, slashes and escapes in it. */
function isSameOriginPath(text: string): boolean {
  if (!PATH_CHARACTERS.test(text)) return false;
  const url = URL.parse(text, 'https://app.example');
  return url !== null && url.origin === 'https://app.example' && !url.pathname.startsWith('//');
}

/** A setting that is a path of this server. @param example for the error */
export function pathSettingSchema(example: string) {
  const error = `must be a path of this server, such as ${example}`;
  return z.string({ error }).max(2048, { error }).refine(isSameOriginPath, { error });
}

const TITLE_ERROR = 'must be a text of 1 to 100 characters';

/** A setting that is the name at the top of a page. */
export const titleSettingSchema = z
  .string({ error: TITLE_ERROR })
  .trim()
  .min(1, { error: TITLE_ERROR })
  .max(100, { error: TITLE_ERROR });
