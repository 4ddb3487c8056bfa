import { Counter } from 'prom-client';
import type { Platform } from '../../platform/platform.ts';

/** Registers the metrics of sign-ins, counted from the security events of this process. */
export function countSignIns({ events, metrics: { registry } }: Pick<Platform, 'events' | 'metrics'>): void {
  const registers = [registry];
  const signIns = new Counter({
    name: 'belfry_sign_ins_total',
    help: 'Sign-ins and their failed attempts, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  const lockouts = new Counter({
    name: 'belfry_lockouts_total',
    help: 'Locks after too many failed attempts, by what was locked: sign-in, two-factor.',
    labelNames: ['kind'],
    registers,
  });
  const countSignIn = (outcome: string) => signIns.inc({ outcome });

  events.on('auth.login', () => countSignIn('success'));
  events.on('security.login_failed', ({ reason }: { reason?: 'user_disabled' | 'password_changed' }) =>
    countSignIn(reason ?? 'wrong_password'),
  );
  events.on('security.locked_login_attempt', () => countSignIn('locked'));
  events.on('security.account_locked', () => lockouts.inc({ kind: 'sign-in' }));
  // Of the extension twoFactor().
  events.on('security.two_factor_failed', ({ reason }: { reason: 'wrong' | 'locked' }) =>
    countSignIn(`two_factor_${reason}`),
  );
  events.on('security.two_factor_locked', () => lockouts.inc({ kind: 'two-factor' }));
}
