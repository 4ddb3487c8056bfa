const HEX = /^[0-9a-f]{1,200}$/i;

/** Whether a token of an iOS device is APNs' own, which is hexadecimal. The others are of FCM, which hands on to APNs. */
export function isApnsToken(token: string): boolean {
  return HEX.test(token);
}
