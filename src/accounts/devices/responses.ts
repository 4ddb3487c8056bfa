/** A device of any user, as administrators see it. Times are ISO 8601. */
export interface RegisteredDevice {
  id: string;
  user: string;
  platform: 'ios' | 'android' | 'web';
  name: string | null;
  appVersion: string | null;
  locale: string | null;
  /** Masked. */
  token: string;
  /** Whether nothing leaves the machine when a push is sent to it. */
  isSimulated: boolean;
  /** `signed-in`: bound to a session; `expired`: its session has expired, so the next send removes it; `unbound`: without a session. */
  state: 'signed-in' | 'expired' | 'unbound';
  createdAt: string;
  /** Time of the last registration. */
  lastSeenAt: string;
}
