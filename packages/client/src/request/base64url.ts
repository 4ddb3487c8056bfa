/** Encodes bytes as base64url without padding. */
export function encodeBase64url(bytes: ArrayBuffer | Uint8Array): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/** Decodes base64url, with or without padding. @throws DOMException if the text is something else */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> {
  const base64 = text.replaceAll('-', '+').replaceAll('_', '/');
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** A code verifier (RFC 7636) with its S256 challenge. */
export interface CodeVerifier {
  /** The secret. */
  codeVerifier: string;
  /** The SHA-256 of the verifier, base64url. */
  codeChallenge: string;
}

/**
 * Creates a code verifier of 256 random bits. The client keeps the verifier and sends the challenge, so that a code which returns to another
 * browser is useless there.
 */
export async function createCodeVerifier(): Promise<CodeVerifier> {
  const codeVerifier = encodeBase64url(crypto.getRandomValues(new Uint8Array(32)));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier));
  return { codeVerifier, codeChallenge: encodeBase64url(digest) };
}
