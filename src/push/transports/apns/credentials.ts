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
  /** Whether to use the production environment of APNs; false for the sandbox, which issues tokens to apps installed by Xcode. */
  production: boolean;
}

type ReportError = (text: string) => void;
type Variables = Readonly<Record<string, string>>;

const KEY_OR_TEAM_ID = /^[A-Z0-9]{10}$/;
const TOPIC = /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/;
const PEM = /-----BEGIN /;

/** Reads a PEM from a variable, or from the file whose path the variable contains. `\n` in the variable stands for a line break. */
function readPem(name: string, value: string, reportError: ReportError): string | undefined {
  const text = readCredential(value.replaceAll('\\n', '\n'), PEM);
  if (text === undefined)
    reportError(`${name} is neither a PEM nor the path of a readable file: set it to a PEM or the path of a PEM file`);
  return text;
}

function parsePrivateKey(name: string, pem: string, reportError: ReportError): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    reportError(`${name} contains no readable private key: provide the key as a PEM without a passphrase`);
    return undefined;
  }
}

function readTokenAuthentication(variables: Variables, reportError: ReportError): ApnsAuthentication | undefined {
  const { APNS_KEY = '', APNS_KEY_ID = '', APNS_TEAM_ID = '' } = variables;
  if (!KEY_OR_TEAM_ID.test(APNS_KEY_ID))
    reportError('APNS_KEY_ID must be the 10-character id of the key, as in its file name AuthKey_<id>.p8');
  if (!KEY_OR_TEAM_ID.test(APNS_TEAM_ID)) reportError('APNS_TEAM_ID must be the 10-character id of your Apple team');
  const pem = readPem('APNS_KEY', APNS_KEY, reportError);
  const key = pem === undefined ? undefined : parsePrivateKey('APNS_KEY', pem, reportError);
  if (key === undefined) return undefined;
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    reportError('APNS_KEY must be an APNs key (P-256): set it to the .p8 file or its contents');
    return undefined;
  }
  return { kind: 'token', key: pem!, keyId: APNS_KEY_ID, teamId: APNS_TEAM_ID };
}

function readCertificateAuthentication(variables: Variables, reportError: ReportError): ApnsAuthentication | undefined {
  const { APNS_CERT = '', APNS_CERT_KEY } = variables;
  const cert = readPem('APNS_CERT', APNS_CERT, reportError);
  const pem = APNS_CERT_KEY === undefined ? cert : readPem('APNS_CERT_KEY', APNS_CERT_KEY, reportError);
  if (cert === undefined || pem === undefined) return undefined;
  const key = parsePrivateKey(APNS_CERT_KEY === undefined ? 'APNS_CERT' : 'APNS_CERT_KEY', pem, reportError);
  if (key === undefined) return undefined;
  try {
    const certificate = new X509Certificate(cert);
    if (!certificate.checkPrivateKey(key)) reportError('the private key does not match the certificate in APNS_CERT');
    if (certificate.validToDate.getTime() < Date.now()) reportError(`APNS_CERT expired on ${certificate.validTo}`);
  } catch {
    reportError('APNS_CERT contains no readable certificate: provide the certificate as a PEM');
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
  if (!TOPIC.test(APNS_TOPIC)) reportError('APNS_TOPIC must be the bundle id of the app, such as com.example.app');
  if (!/^(true|false)$/.test(APNS_PRODUCTION)) reportError('APNS_PRODUCTION must be true or false');
  if ((APNS_KEY === undefined) === (APNS_CERT === undefined)) {
    reportError('Set either APNS_KEY, with APNS_KEY_ID and APNS_TEAM_ID, or APNS_CERT');
    return undefined;
  }
  const authentication =
    APNS_KEY === undefined
      ? readCertificateAuthentication(variables, reportError)
      : readTokenAuthentication(variables, reportError);
  return authentication && { authentication, topic: APNS_TOPIC, production: APNS_PRODUCTION === 'true' };
}
