import { expect, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { f } from '../../../src/index.ts';
import { isPersonalField } from '../../../src/records/fields/personal-data.ts';

const personal = (name: string, field: AnyField = f.string()) => isPersonalField(name, field.spec);

test.each([
  ...['email', 'phone', 'address', 'iban', 'salary', 'dateOfBirth', 'birthday', 'homeAddress', 'mobilePhone', 'IBAN'],
  ...['phone_number', 'zip', 'postalCode', 'firstName', 'lastName', 'surname', 'taxId', 'passportNumber', 'ssn'],
  ...['addresses', 'phones', 'ipAddress', 'lastIp', 'gender', 'salaryMonthly', 'workEmail', 'e2ePhone'],
])('the field name "%s" indicates personal data', (name) => {
  expect(personal(name)).toBe(true);
});

test.each([
  ...['title', 'body', 'status', 'stage', 'page', 'message', 'description', 'zipper', 'shipping', 'tags', 'number'],
  ...['addressVerified', 'emailSentAt', 'phoneConfirmed', 'mailTemplate', 'emailCount', 'manage', 'storage', 'sku'],
])('the field name "%s" does not indicate personal data', (name) => {
  expect(personal(name)).toBe(false);
});

test('a field marked pii() is personal whatever its name and type', () => {
  expect(personal('note', f.text().pii())).toBe(true);
  expect(personal('flag', f.boolean().pii())).toBe(true);
});

test('an e-mail field is personal whatever its name, and a boolean or a reference is not personal by its name', () => {
  expect(personal('contact', f.email())).toBe(true);
  expect(personal('email', f.boolean())).toBe(false);
  expect(personal('address', f.ref('address'))).toBe(false);
});

test('an object is personal if one of its members is', () => {
  expect(personal('billing', f.object({ street: f.string(), to: f.string() }))).toBe(true);
  expect(personal('size', f.object({ width: f.number() }))).toBe(false);
});
