import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readCredential } from '../read-credential.ts';

/** How the app authenticates with APNs: with tokens signed by a key, or with a certificate. All in PEM. */
export type ApnsAuthentication =
  | { kind: 'token'; key: string; keyId: string; teamId: string }
  | { kind: 'certificate'; cert: string; key: string };

/** Credentials for APNs. */
export interface ApnsCredentials {
  authentication: ApnsAuthentication;
  /** The app's bundle id. */
  topic: string;
  /** False for the sandbox, which issues the tokens of apps installed by Xcode. */
  production: boolean;
}

type ReportError = (text: string) => void;
type Variables = Readonly<Record<string, string>>;

const KEY_OR_TEAM_ID = /^[A-Z0-9]{10}$/;
const TOPIC = /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/;
const PEM = /-----BEGIN /;

/** Reads a PEM from a variable or from the file it names. `\n` counts as a line break, because many hosts strip line breaks from variables. */
function readPem(name: string, value: string, reportError: ReportError): string | undefined {
  const text = readCredential(value.replaceAll('\\n', '\n'), PEM);
  if (text === undefined)
    reportError(`${name} names a file that cannot be read: it should be a PEM, or the path of its file`);
  return text;
}

function readKey(name: string, pem: string, reportError: ReportError): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    reportError(`${name} holds no private key that can be read: it should be a PEM without passphrase`);
    return undefined;
  }
}

function readTokenAuthentication(variables: Variables, reportError: ReportError): ApnsAuthentication | undefined {
  const { APNS_KEY = '', APNS_KEY_ID = '', APNS_TEAM_ID = '' } = variables;
  if (!KEY_OR_TEAM_ID.test(APNS_KEY_ID))
    reportError('APNS_KEY_ID should be the 10 letters and digits of the key, as its file is named');
  if (!KEY_OR_TEAM_ID.test(APNS_TEAM_ID)) reportError('APNS_TEAM_ID should be the 10 letters and digits of your team');
  const pem = readPem('APNS_KEY', APNS_KEY, reportError);
  const key = pem === undefined ? undefined : readKey('APNS_KEY', pem, reportError);
  if (key === undefined) return undefined;
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    reportError('APNS_KEY should be the .p8 file of an APNs key (P-256)');
    return undefined;
  }
  return { kind: 'token', key: pem!, keyId: APNS_KEY_ID, teamId: APNS_TEAM_ID };
}

function readCertificateAuthentication(variables: Variables, reportError: ReportError): ApnsAuthentication | undefined {
  const { APNS_CERT = '', APNS_CERT_KEY } = variables;
  const cert = readPem('APNS_CERT', APNS_CERT, reportError);
  const pem = APNS_CERT_KEY === undefined ? cert : readPem('APNS_CERT_KEY', APNS_CERT_KEY, reportError);
  if (cert === undefined || pem === undefined) return undefined;
  const key = readKey(APNS_CERT_KEY === undefined ? 'APNS_CERT' : 'APNS_CERT_KEY', pem, reportError);
  if (key === undefined) return undefined;
  try {
    const certificate = new X509Certificate(cert);
    if (!certificate.checkPrivateKey(key)) reportError('APNS_CERT and APNS_CERT_KEY do not belong together');
    if (certificate.validToDate.getTime() < Date.now()) reportError(`APNS_CERT has expired on ${certificate.validTo}`);
  } catch {
    reportError('APNS_CERT holds no certificate that can be read: it should be a PEM');
    return undefined;
  }
  return { kind: 'certificate', cert, key: pem };
}

/**
 * Reads the variables that begin with APNS_: APNS_KEY with APNS_KEY_ID and APNS_TEAM_ID, or APNS_CERT with APNS_CERT_KEY (optional
 * if both are in one file); APNS_TOPIC; APNS_PRODUCTION.
 *
 * @param options `production`: the default of APNS_PRODUCTION
 * @param reportError called for each configuration error
 */
export function readApnsCredentials(
  variables: Variables,
  { production }: { production: boolean },
  reportError: ReportError,
): ApnsCredentials | undefined {
  const { APNS_KEY, APNS_CERT, APNS_TOPIC = '', APNS_PRODUCTION = String(production) } = variables;
  if (!TOPIC.test(APNS_TOPIC)) reportError('APNS_TOPIC should be the bundle id of the app, like com.example.app');
  if (!/^(true|false)$/.test(APNS_PRODUCTION)) reportError('APNS_PRODUCTION must be true or false');
  if ((APNS_KEY === undefined) === (APNS_CERT === undefined)) {
    reportError('APNs needs either APNS_KEY, with APNS_KEY_ID and APNS_TEAM_ID, or APNS_CERT');
    return undefined;
  }
  const authentication =
    APNS_KEY === undefined
      ? readCertificateAuthentication(variables, reportError)
      : readTokenAuthentication(variables, reportError);
  return authentication && { authentication, topic: APNS_TOPIC, production: APNS_PRODUCTION === 'true' };
}
