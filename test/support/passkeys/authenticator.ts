import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** A value that the authenticator encodes as CBOR. */
export type Cbor = number | string | Buffer | Cbor[] | Map<number | string, Cbor>;

function encodeHead(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value]);
  if (value < 0x100) return Buffer.from([(major << 5) | 24, value]);
  const head = Buffer.alloc(3);
  head.writeUInt8((major << 5) | 25);
  head.writeUInt16BE(value, 1);
  return head;
}

/** Encodes a value as CBOR (RFC 8949), with integers and lengths below 65,536. */
export function encodeCbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? encodeHead(1, -1 - value) : encodeHead(0, value);
  if (typeof value === 'string') return Buffer.concat([encodeHead(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([encodeHead(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([encodeHead(4, value.length), ...value.map(encodeCbor)]);
  const entries = [...value].flatMap(([key, entry]) => [encodeCbor(key), encodeCbor(entry)]);
  return Buffer.concat([encodeHead(5, value.size), ...entries]);
}

/** Deviations from an honest browser and authenticator. */
export interface Deviations {
  origin?: string;
  rpId?: string;
  challenge?: string;
  /** `webauthn.create` or `webauthn.get`. */
  type?: string;
  crossOrigin?: boolean;
  topOrigin?: string;
  userPresent?: boolean;
  userVerified?: boolean;
  backupEligible?: boolean;
  backedUp?: boolean;
  /** The counter of the response; the authenticator's own goes on counting from it. */
  counter?: number;
  /** Null: none. */
  userHandle?: string | null;
  transports?: unknown;
  /** The attestation statement and its format. */
  attestation?: { fmt: string; attStmt: Map<number | string, Cbor> };
}

/** The members of options that the authenticator reads. */
interface Options {
  challenge: string;
  rpId?: string;
  rp?: { id: string };
  user?: { id: string };
}

/** A response as a browser sends it: `credential.toJSON()`. */
export interface CredentialJson {
  id: string;
  rawId: string;
  type: string;
  authenticatorAttachment: string;
  clientExtensionResults: object;
  response: Record<string, unknown>;
}

const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest();
const base64url = (data: Buffer | string) => Buffer.from(data).toString('base64url');

function coseKeyOf(publicKey: KeyObject): Buffer {
  const { x, y } = publicKey.export({ format: 'jwk' });
  const entries: [number, Cbor][] = [
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, Buffer.from(x!, 'base64url')],
    [-3, Buffer.from(y!, 'base64url')],
  ];
  return encodeCbor(new Map(entries));
}

/** A passkey in software, together with the browser that uses it. It follows WebAuthn, unless a test asks for deviations. */
export interface Passkey {
  /** The id of the credential, base64url. */
  readonly id: string;
  /** The response to creation options. Also stores the user handle. */
  create(options: Options, deviations?: Deviations): CredentialJson;
  /** The response to request options. */
  use(options: Options, deviations?: Deviations): CredentialJson;
  /** Another authenticator with the same key and the same count. */
  clone(): Passkey;
}

interface State {
  id: string;
  keys: { publicKey: KeyObject; privateKey: KeyObject };
  counter: number;
  counts: boolean;
  synced: boolean;
  userHandle: string | undefined;
}

function passkeyWith(state: State, pageOrigin: string): Passkey {
  const readClientData = (type: string, { challenge }: Options, deviations: Deviations) =>
    JSON.stringify({
      type: deviations.type ?? type,
      challenge: deviations.challenge ?? challenge,
      origin: deviations.origin ?? pageOrigin,
      crossOrigin: deviations.crossOrigin ?? false,
      ...(deviations.topOrigin !== undefined && { topOrigin: deviations.topOrigin }),
    });

  function authenticatorData({ rpId, rp }: Options, deviations: Deviations, attested = Buffer.alloc(0)): Buffer {
    const { userPresent = true, userVerified = true } = deviations;
    const { backupEligible = state.synced, backedUp = state.synced } = deviations;
    if (state.counts) state.counter++;
    state.counter = deviations.counter ?? state.counter;
    const flags =
      (userPresent ? 1 : 0) |
      (userVerified ? 4 : 0) |
      (backupEligible ? 8 : 0) |
      (backedUp ? 16 : 0) |
      (attested.length > 0 ? 64 : 0);
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(state.counter);
    return Buffer.concat([sha256(deviations.rpId ?? rpId ?? rp!.id), Buffer.from([flags]), counter, attested]);
  }

  const credentialWith = (response: Record<string, unknown>): CredentialJson => ({
    id: state.id,
    rawId: state.id,
    type: 'public-key',
    authenticatorAttachment: 'platform',
    clientExtensionResults: {},
    response,
  });

  return {
    id: state.id,
    create(options, deviations = {}) {
      state.userHandle = options.user?.id;
      const id = Buffer.from(state.id, 'base64url');
      const length = Buffer.alloc(2);
      length.writeUInt16BE(id.length);
      const attested = Buffer.concat([Buffer.alloc(16), length, id, coseKeyOf(state.keys.publicKey)]);
      const authData = authenticatorData(options, deviations, attested);
      const { fmt, attStmt } = deviations.attestation ?? { fmt: 'none', attStmt: new Map() };
      const entries: [string, Cbor][] = [
        ['fmt', fmt],
        ['attStmt', attStmt],
        ['authData', authData],
      ];
      return credentialWith({
        clientDataJSON: base64url(readClientData('webauthn.create', options, deviations)),
        attestationObject: base64url(encodeCbor(new Map(entries))),
        authenticatorData: base64url(authData),
        transports: deviations.transports ?? ['internal', 'hybrid'],
        publicKeyAlgorithm: -7,
      });
    },
    use(options, deviations = {}) {
      const clientData = readClientData('webauthn.get', options, deviations);
      const data = authenticatorData(options, deviations);
      const signature = sign('sha256', Buffer.concat([data, sha256(clientData)]), state.keys.privateKey);
      const userHandle = deviations.userHandle === undefined ? state.userHandle : deviations.userHandle;
      return credentialWith({
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(data),
        signature: base64url(signature),
        ...(userHandle !== null && { userHandle }),
      });
    },
    clone: () => passkeyWith({ ...state }, pageOrigin),
  };
}

/**
 * Creates a passkey in software with a new ES256 key.
 *
 * @param options `counts`: whether it counts its uses, like a security key; `synced`: whether it is backed up, like a passkey of a phone;
 *   `origin` of the page that uses it
 */
export function createPasskey({
  counts = false,
  synced = true,
  origin = 'http://localhost:5001',
  id = randomBytes(20),
} = {}): Passkey {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const state = { id: base64url(id), keys, counter: 0, counts, synced, userHandle: undefined };
  return passkeyWith(state, origin);
}
