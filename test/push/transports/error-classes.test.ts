import { describe, expect, test } from 'vitest';
import { AddressRefusedError } from '../../../src/platform/http/address-guard/index.ts';
import {
  classifyApnsError,
  isTimeout,
  isNotProcessed as isUnseenByApns,
} from '../../../src/push/transports/apns/errors.ts';
import { classifyFcmError, isNotProcessed as isUnseenByFcm } from '../../../src/push/transports/fcm/errors.ts';
import { classifyWebPushResponse } from '../../../src/push/transports/web-push/errors.ts';

describe('a response of a web push service', () => {
  const answer = Buffer.alloc(0);

  test.each([200, 201, 299])('%i is a success', (status) => {
    expect(classifyWebPushResponse({ status, responseBody: answer })).toBeUndefined();
  });

  test.each([
    [199, 'retryable', 'ProviderUnavailable'],
    [300, 'retryable', 'ProviderUnavailable'],
    [399, 'retryable', 'ProviderUnavailable'],
    [402, 'permanent', 'InvalidMessage'],
    [499, 'permanent', 'InvalidMessage'],
    [500, 'retryable', 'ProviderUnavailable'],
  ])('%i is a failure that is %s: %s', (status, kind, name) => {
    expect(classifyWebPushResponse({ status, responseBody: answer })).toMatchObject({
      class: kind,
      name,
      detail: `status ${status}`,
    });
  });

  test('that never arrives is retryable, and the error says whether it timed out', () => {
    const lost = { class: 'retryable', name: 'ConnectionLost' };
    expect(classifyWebPushResponse({ responseBody: answer, isTimedOut: true })).toEqual({
      ...lost,
      detail: 'No response in time',
    });
    expect(classifyWebPushResponse({ responseBody: answer, error: { code: 'ECONNRESET' } })).toEqual({
      ...lost,
      detail: 'ECONNRESET',
    });
    expect(classifyWebPushResponse({ responseBody: answer, error: undefined })).toEqual({
      ...lost,
      detail: 'No response',
    });
  });

  test('to a refused address is a permanent failure; a host that could not be looked up may have an address later', () => {
    const refusedFor = (cause: unknown) =>
      classifyWebPushResponse({ responseBody: answer, error: new AddressRefusedError(cause) });
    expect(refusedFor(new Error('private'))).toMatchObject({ class: 'permanent', name: 'EndpointRefused' });
    expect(refusedFor(undefined)).toMatchObject({ class: 'permanent', name: 'EndpointRefused' });
    const notFound = Object.assign(new Error('x'), { code: 'ENOTFOUND' });
    expect(refusedFor(notFound)).toMatchObject({ class: 'retryable', name: 'EndpointRefused' });
  });
});

describe('a response of APNs without a known reason', () => {
  test.each([
    [400, 'permanent', 'InvalidMessage'],
    [499, 'permanent', 'InvalidMessage'],
    [500, 'retryable', 'ProviderUnavailable'],
    [399, 'retryable', 'ConnectionLost'],
    [429, 'retryable', 'MessageRateExceeded'],
  ])('%i is a failure that is %s: %s', (status, kind, name) => {
    expect(classifyApnsError({ status, response: { reason: 'New' } })).toMatchObject({
      class: kind,
      name,
      detail: 'New',
    });
  });

  test('may have its status only in the error text of the library', () => {
    const text = { message: 'stream ended unexpectedly with status 503 and empty body' };
    expect(classifyApnsError({ error: text })).toMatchObject({ name: 'ProviderUnavailable', detail: text.message });
    expect(classifyApnsError({ error: { message: 'x' } })).toMatchObject({
      class: 'retryable',
      name: 'ConnectionLost',
    });
  });

  test('has no goneSince without a valid time; any epoch time in ms from 1 on is valid', () => {
    const goneSince = (timestamp: unknown) =>
      classifyApnsError({ status: 410, response: { reason: 'Unregistered', timestamp } }).goneSince;
    expect([undefined, 0, -1, 1].map(goneSince)).toEqual([undefined, undefined, undefined, 1]);
  });

  test('leads to an immediate second try only if APNs did not process the notification', () => {
    const unseen = [
      { error: { message: 'ExpiredProviderToken' } },
      { error: { message: 'Stream closed with error code NGHTTP2_REFUSED_STREAM' } },
      { code: 'ERR_HTTP2_GOAWAY_SESSION' },
    ];
    expect(unseen.map(isUnseenByApns)).toEqual([true, true, true]);
    expect([{}, { error: { message: 'x' } }, { code: 'ECONNRESET' }].map(isUnseenByApns)).toEqual([
      false,
      false,
      false,
    ]);
    expect(isTimeout({ error: { message: 'apn write timeout' } })).toBe(true);
    expect([{}, { error: { message: 'x' } }].map(isTimeout)).toEqual([false, false]);
  });
});

describe('an error of FCM', () => {
  const answered = (status: number, headers: Record<string, unknown> = {}) =>
    classifyFcmError({ code: 'x', message: 'said', httpResponse: { status, headers } });

  test.each([
    [400, 'permanent', 'InvalidMessage'],
    [401, 'misconfigured', 'InvalidCredentials'],
    [403, 'misconfigured', 'InvalidCredentials'],
    [404, 'misconfigured', 'InvalidCredentials'],
    [408, 'retryable', 'ProviderUnavailable'],
    [409, 'permanent', 'InvalidMessage'],
    [429, 'retryable', 'MessageRateExceeded'],
    [499, 'permanent', 'InvalidMessage'],
    [500, 'retryable', 'ProviderUnavailable'],
  ])('with status %i and no details is %s: %s', (status, kind, name) => {
    expect(answered(status)).toMatchObject({ class: kind, name, detail: 'said' });
  });

  test('has a wait time only if FCM sends one in a readable form', () => {
    expect(answered(500, { 'retry-after': '7' }).retryAfterMs).toBe(7000);
    expect(answered(500, { 'retry-after': ['7'] }).retryAfterMs).toBeUndefined();
    expect(answered(429, { 'retry-after': 'soon' }).retryAfterMs).toBe(60_000);
  });

  /** The library's error when it got no access token; the response of Google, if any, is somewhere in the causes. */
  const withoutToken = (message: string, cause?: unknown) =>
    classifyFcmError(Object.assign(new Error(message, { cause }), { code: 'app/invalid-credential' })).class;
  const answerOf = (status: number) => Object.assign(new Error('token'), { response: { status } });

  test.each([
    [399, 'retryable'],
    [400, 'misconfigured'],
    [401, 'misconfigured'],
    [408, 'retryable'],
    [429, 'retryable'],
    [499, 'misconfigured'],
    [500, 'retryable'],
  ])('caused by status %i of Google’s token server is %s', (status, kind) => {
    expect(withoutToken('x', answerOf(status))).toBe(kind);
    expect(withoutToken('x', new Error('between', { cause: answerOf(status) }))).toBe(kind);
    expect(withoutToken('x', Object.assign(new Error('token'), { status }))).toBe(kind);
  });

  test('without a response of Google is classified by its text, which shows whether the key was refused', () => {
    expect(withoutToken('invalid_grant: Invalid JWT Signature.')).toBe('misconfigured');
    expect(withoutToken('getaddrinfo ENOTFOUND oauth2.googleapis.com')).toBe('retryable');
  });

  test('without a response is permanent if the library found the message invalid, and retryable otherwise', () => {
    expect(classifyFcmError({ code: 'messaging/invalid-payload', message: 'x' })).toMatchObject({ class: 'permanent' });
    expect(classifyFcmError({ code: 'app/network-error', message: 'x' })).toMatchObject({ name: 'ConnectionLost' });
    for (const nothing of [undefined, null, {}]) {
      expect(classifyFcmError(nothing)).toMatchObject({
        class: 'retryable',
        detail: 'The FCM library reported no reason',
      });
    }
    expect(isUnseenByFcm(new Error('NGHTTP2_REFUSED_STREAM'))).toBe(true);
    expect([undefined, {}, new Error('x')].map(isUnseenByFcm)).toEqual([false, false, false]);
  });
});
