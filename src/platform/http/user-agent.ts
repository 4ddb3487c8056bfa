/** User agents are read up to this length: what identifies the browser comes first, and clients can send kilobytes. */
const MAX_LENGTH = 512;

/** A program that is not a browser; it is called `an app` because its own name is a text that the client chose. */
const APP = 'an app';

/**
 * Programs by a part of their user agent. The first match counts, so programs come before those whose names they also send: every browser
 * that is built on Chromium sends `Chrome` and `Safari`.
 */
const PROGRAMS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\b(?:OPR|OPiOS|OPT|OPX|Opera)[ /]|\bOpera Mini\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Vivaldi', /\bVivaldi\//],
  ['Yandex Browser', /\bYaBrowser\//],
  ['UC Browser', /\bUC ?Browser\//],
  ['DuckDuckGo', /\b(?:DuckDuckGo|Ddg)\//],
  [APP, /\b(?:Electron|FBAN|FBAV|Instagram|okhttp|Dart|CFNetwork|Expo|ReactNative|Alamofire)\b|; wv\)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Internet Explorer', /\bMSIE |\bTrident\//],
  ['Chrome', /\b(?:Headless)?Chrom(?:e|ium)\/|\bCriOS\//],
  ['Safari', /\bVersion\/.*\bSafari\//],
  // Browsers on iOS send `Safari`; web views inside of apps do not.
  [APP, /\bAppleWebKit\/(?!.*\bSafari\/)|\bDalvik\//],
  ['curl', /^curl\//],
  ['Wget', /^Wget\//],
  ['HTTPie', /^HTTPie\//],
  ['Postman', /^PostmanRuntime\//],
  ['Insomnia', /^insomnia\//i],
  ['Deno', /^Deno\//],
  ['Bun', /^Bun\//],
  ['Node.js', /^(?:node|undici|axios|node-fetch|got|superagent)\b/i],
  ['Python', /^(?:python\b|aiohttp\/|.*\bpython-(?:requests|httpx|urllib3?)\/)/i],
  ['Go', /^Go-http-client\//],
  ['Java', /^(?:Java|Apache-HttpClient|Java-http-client)\//],
  ['Ruby', /^(?:Ruby$|Faraday |rest-client\/)/],
  ['PHP', /^(?:GuzzleHttp|PHP)\b/],
];

/** Operating systems by a part of the user agent. The first match counts: Android also sends `Linux`, and iOS `Mac OS X`. */
const SYSTEMS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Windows Phone', /\bWindows Phone\b/],
  ['iPadOS', /\biPad\b/],
  ['iOS', /\biPhone\b|\biPod\b|\biOS\b/],
  ['Windows', /\bWindows\b|\bWin(?:32|64)\b/],
  ['HarmonyOS', /\bHarmonyOS\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['macOS', /\bMac(?:intosh|OS| OS X)\b/],
  // The network library of Apple sends the name of the kernel, which is the same on phones and computers.
  ['an Apple device', /\bDarwin\//],
  ['FreeBSD', /\bFreeBSD\b/],
  ['Linux', /\bLinux\b|\bX11\b/],
];

const findName = (table: typeof PROGRAMS, userAgent: string) =>
  table.find(([, pattern]) => pattern.test(userAgent))?.[0];

/**
 * Returns the browser and operating system of a user agent, without versions: `Firefox on Windows`; only one of them if the other is not
 * known, and an empty text if neither is. The result consists of names from the tables above: it contains nothing that the client wrote.
 */
export function describeUserAgent(userAgent: string): string {
  const start = userAgent.slice(0, MAX_LENGTH);
  return [findName(PROGRAMS, start), findName(SYSTEMS, start)].filter((name) => name !== undefined).join(' on ');
}
