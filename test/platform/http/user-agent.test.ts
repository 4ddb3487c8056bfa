import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeUserAgent } from '../../../src/platform/http/user-agent.ts';
import { anyCharacter } from '../../support/any-text.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const IOS_WEBKIT = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
const WINDOWS = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)';
const MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)';
const LINUX = 'Mozilla/5.0 (X11; Linux x86_64)';
const ANDROID = 'Mozilla/5.0 (Linux; Android 14; Pixel 8)';
const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X)';
const IPAD = 'Mozilla/5.0 (iPad; CPU OS 17_7 like Mac OS X)';

test.each([
  [`${WINDOWS} ${WEBKIT} Chrome/131.0.0.0 Safari/537.36`, 'Chrome on Windows'],
  [`${MAC} ${WEBKIT} Chrome/131.0.0.0 Safari/537.36`, 'Chrome on macOS'],
  [`${LINUX} ${WEBKIT} HeadlessChrome/131.0.0.0 Safari/537.36`, 'Chrome on Linux'],
  [`${LINUX} ${WEBKIT} Ubuntu Chromium/120.0 Chrome/120.0 Safari/537.36`, 'Chrome on Linux'],
  [`Mozilla/5.0 (Linux; Android 10; K) ${WEBKIT} Chrome/131.0.0.0 Mobile Safari/537.36`, 'Chrome on Android'],
  [`${IPHONE} ${IOS_WEBKIT} CriOS/131.0.6778.73 Mobile/15E148 Safari/604.1`, 'Chrome on iOS'],
  [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${WEBKIT} Chrome/130.0.0.0 Safari/537.36`, 'Chrome on ChromeOS'],
  [`${WINDOWS} ${WEBKIT} Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0`, 'Edge on Windows'],
  [`${WINDOWS} ${WEBKIT} Chrome/64.0 Safari/537.36 Edge/17.17134`, 'Edge on Windows'],
  [`${ANDROID} ${WEBKIT} Chrome/131.0 Mobile Safari/537.36 EdgA/131.0`, 'Edge on Android'],
  [`${IPHONE} ${IOS_WEBKIT} Version/18.0 EdgiOS/131.0 Mobile/15E148 Safari/604.1`, 'Edge on iOS'],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0', 'Firefox on Windows'],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:133.0) Gecko/20100101 Firefox/133.0', 'Firefox on macOS'],
  ['Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0', 'Firefox on Linux'],
  ['Mozilla/5.0 (X11; FreeBSD amd64; rv:133.0) Gecko/20100101 Firefox/133.0', 'Firefox on FreeBSD'],
  ['Mozilla/5.0 (Android 14; Mobile; rv:133.0) Gecko/133.0 Firefox/133.0', 'Firefox on Android'],
  [`${IPHONE} ${IOS_WEBKIT} FxiOS/133.0 Mobile/15E148 Safari/605.1.15`, 'Firefox on iOS'],
  [`${MAC} ${IOS_WEBKIT} Version/18.1 Safari/605.1.15`, 'Safari on macOS'],
  [`${IPHONE} ${IOS_WEBKIT} Version/18.1 Mobile/15E148 Safari/604.1`, 'Safari on iOS'],
  [`${IPAD} ${IOS_WEBKIT} Version/17.7 Mobile/15E148 Safari/604.1`, 'Safari on iPadOS'],
  [`${WINDOWS} ${WEBKIT} Chrome/130.0.0.0 Safari/537.36 OPR/115.0.0.0`, 'Opera on Windows'],
  ['Opera/9.80 (Windows NT 6.1; WOW64) Presto/2.12.388 Version/12.18', 'Opera on Windows'],
  [`${IPHONE} ${IOS_WEBKIT} Version/18.0 Mobile/15E148 Safari/604.1 OPT/5.2.1`, 'Opera on iOS'],
  [`${ANDROID} ${WEBKIT} SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36`, 'Samsung Internet on Android'],
  [`${LINUX} ${WEBKIT} Chrome/130.0.0.0 Safari/537.36 Vivaldi/7.0.3495`, 'Vivaldi on Linux'],
  [`${WINDOWS} ${WEBKIT} Chrome/128.0 YaBrowser/24.10 Safari/537.36`, 'Yandex Browser on Windows'],
  [`${ANDROID} ${WEBKIT} Version/4.0 Chrome/100.0 UCBrowser/13.4 Mobile Safari/537.36`, 'UC Browser on Android'],
  [`${MAC} ${IOS_WEBKIT} Version/18.0 Safari/605.1.15 Ddg/18.0`, 'DuckDuckGo on macOS'],
  ['Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko', 'Internet Explorer on Windows'],
  ['Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1) AppleWebKit/537.36 Edge/15.15254', 'Edge on Windows Phone'],
  [`${ANDROID.replace(')', '; wv)')} ${WEBKIT} Version/4.0 Chrome/131.0 Mobile Safari/537.36`, 'an app on Android'],
  [`${IPHONE} ${IOS_WEBKIT} Mobile/15E148`, 'an app on iOS'],
  [`${IPHONE} ${IOS_WEBKIT} Mobile/22B91 [FBAN/FBIOS;FBAV/490.0]`, 'an app on iOS'],
  [`${MAC} ${WEBKIT} Slack/4.41 Chrome/130.0 Electron/33.0 Safari/537.36`, 'an app on macOS'],
  ['okhttp/4.12.0', 'an app'],
  ['Dart/3.5 (dart:io)', 'an app'],
  ['Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8 Build/AP2A)', 'an app on Android'],
  ['Acme/41 CFNetwork/1568.200.51 Darwin/24.1.0', 'an app on an Apple device'],
  ['Acme/2.1 (com.acme.app; build:7; iOS 18.1.0) Alamofire/5.9.1', 'an app on iOS'],
  ['curl/8.10.1', 'curl'],
  ['Wget/1.24.5', 'Wget'],
  ['HTTPie/3.2.3', 'HTTPie'],
  ['PostmanRuntime/7.42.0', 'Postman'],
  ['node', 'Node.js'],
  ['undici', 'Node.js'],
  ['axios/1.7.7', 'Node.js'],
  ['Deno/2.1.1', 'Deno'],
  ['Bun/1.1.38', 'Bun'],
  ['python-requests/2.32.3', 'Python'],
  ['Python/3.12 aiohttp/3.10.5', 'Python'],
  ['Go-http-client/2.0', 'Go'],
  ['Java/21.0.2', 'Java'],
  ['GuzzleHttp/7', 'PHP'],
  ['Mozilla/5.0 (X11; Linux x86_64)', 'Linux'],
  ['', ''],
  ['Mozilla/5.0', ''],
  ['<script>alert(1)</script>', ''],
  ['<b>Firefox/1</b> on Windows\r\nBcc: mallory@example.com', 'Firefox on Windows'],
  [`${'x'.repeat(512)} Firefox/133.0 (Windows)`, ''],
  ['Nodebook/1.0', ''],
])('%j is described as %j', (userAgent, expected) => {
  expect(describeUserAgent(userAgent)).toBe(expected);
});

const part = fc.constantFrom('Firefox/', 'Chrome/', 'Safari/', 'Version/', 'Windows', '; wv)', '(', ')', 'Opera ', ' ');
const hostile = fc.array(fc.oneof(part, fc.string({ unit: anyCharacter, maxLength: 9 })), { maxLength: 40 });

test('the description never contains a text of the client, whatever the client sends', () => {
  const MADE_OF_NAMES =
    /^(?:[A-Z][A-Za-z.]*(?: [A-Z][a-z]+)?|an app|curl)?(?:(?:^| on )(?:i?[A-Z][A-Za-z]*(?: Phone)?|iPadOS|macOS|an Apple device))?$/;
  fc.assert(
    fc.property(hostile, (parts) => {
      const described = describeUserAgent(parts.join(''));
      expect(described).toMatch(MADE_OF_NAMES);
      expect(described.length).toBeLessThan(40);
    }),
    { numRuns: scaleRuns(1000) },
  );
});

test('versions do not matter, so an update of the browser is not a new device', () => {
  const at = (version: number) => `${WINDOWS} ${WEBKIT} Chrome/${version}.0.${version}.0 Safari/537.36`;
  expect(new Set([100, 131, 250].map((version) => describeUserAgent(at(version)))).size).toBe(1);
});
