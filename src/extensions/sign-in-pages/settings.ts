import { z } from 'zod';

const COLOR_ERROR = 'must be a colour in hex, such as #1e66f5';
const color = z.string({ error: COLOR_ERROR }).regex(/^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i, { error: COLOR_ERROR });

const colors = {
  /** Buttons. The text on it is black or white, whichever is easier to read. */
  accent: color.optional(),
  /** Behind the card. */
  background: color.optional(),
  /** The card. */
  surface: color.optional(),
  text: color.optional(),
};

const RADIUS_ERROR = 'must be a number of pixels from 0 to 32';

/** The theme: colours for light and dark, and the radius of corners. Only hex colours and numbers, so that it can contain no CSS. */
export const themeSchema = z.strictObject({
  ...colors,
  radius: z.number({ error: RADIUS_ERROR }).min(0, { error: RADIUS_ERROR }).max(32, { error: RADIUS_ERROR }).optional(),
  /** Colours for users who prefer dark pages. Left out: the default dark colours, and `accent`. */
  dark: z.strictObject(colors).optional(),
});

/** The theme as a project writes it. */
export type Theme = z.output<typeof themeSchema>;

const PATH_CHARACTERS = /^\/[\w\-.~%/?=&#+,:@!*]*$/;

/** Whether a text is a path of this origin, whatever a browser does with dots, slashes and escapes in it. */
function isSameOriginPath(text: string): boolean {
  if (!PATH_CHARACTERS.test(text)) return false;
  const url = URL.parse(text, 'https://app.example');
  return url !== null && url.origin === 'https://app.example' && !url.pathname.startsWith('//');
}

const pathSchema = (example: string) => {
  const error = `must be a path of this server, such as ${example}`;
  return z.string({ error }).max(2048, { error }).refine(isSameOriginPath, { error });
};

const TITLE_ERROR = 'must be a text of 1 to 100 characters';

/** The settings of the extension. */
export const signInPagesSettings = z.strictObject({
  /** The name on every page. Default: the host of `APP_URL`, otherwise `openapi.title`. */
  title: z
    .string({ error: TITLE_ERROR })
    .trim()
    .min(1, { error: TITLE_ERROR })
    .max(100, { error: TITLE_ERROR })
    .optional(),
  /** The page that opens after a sign-in. */
  afterSignIn: pathSchema('/app').default('/'),
  theme: themeSchema.optional(),
  /** A stylesheet of this server that is loaded last. */
  stylesheet: pathSchema('/brand/sign-in.css').optional(),
  /** An image of this server that replaces the title at the top of each page. */
  logo: pathSchema('/brand/logo.svg').optional(),
});

/** The settings of the extension as a project writes them. All are optional. */
export type SignInPagesOptions = z.input<typeof signInPagesSettings>;
