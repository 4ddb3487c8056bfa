// The server creates this module, because it knows the key.

/** The public VAPID key, base64url. */
export const vapidPublicKey: string;
