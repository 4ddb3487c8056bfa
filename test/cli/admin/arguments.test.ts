import { expect, test } from 'vitest';
import { readAdminArguments } from '../../../src/cli/admin/arguments.ts';

const read = (line: string) => readAdminArguments(line === '' ? [] : line.split(' '));
const fault = (line: string) => {
  try {
    read(line);
    return '';
  } catch (error) {
    return (error as Error).message.split('\n')[0];
  }
};

test.each([
  ['', 'No command given. Usage:'],
  ['remove --email a@b.co', 'Unknown command remove. Usage:'],
  ['constructor', 'Unknown command constructor. Usage:'],
  ['create', '--email is missing.'],
  ['create --email', '--email needs a value.'],
  ['create --email=', '--email needs a value.'],
  ['create --email a@b.co --nmae Ann', 'Unknown argument --nmae.'],
  ['create --email a@b.co Ann', 'Unknown argument Ann.'],
  ['create --email a@b.co --password secret', 'Unknown argument --password.'],
  ['create --email a@b.co --password-stdin=yes', '--password-stdin takes no value.'],
  ['create --email a@b.co --set phone', '--set must be field=value or field:=json, not phone.'],
  ['create --email a@b.co --set age:=x', '--set age:=x: the value after := must be JSON.'],
  ['create --email a@b.co --set email=c@d.co', '--set cannot set email. Use --email.'],
  ['create --email a@b.co --set password=secret', '--set cannot set password. Use --password-stdin.'],
  ['create --email a@b.co --set roles:=["editor"]', '--set cannot set roles. Use --role.'],
  ['promote --email a@b.co --end', 'Unknown argument --end.'],
  ['list --email a@b.co', 'Unknown argument --email.'],
  ['list --limit 0', '--limit must be a whole number from 1 to 10000, not 0.'],
  ['list --limit many', '--limit must be a whole number from 1 to 10000, not many.'],
  ['import', 'The file is missing.'],
  ['import a.ndjson b.ndjson', 'Unknown argument b.ndjson.'],
  ['import a.ndjson --force', 'Unknown argument --force.'],
])('%s is refused in one line: %s', (line, text) => {
  expect(fault(line)).toBe(text);
});

test('an error is followed by the usage of the command, or by the list of commands', () => {
  expect(() => read('disable')).toThrow('--email is missing.\nnpm run admin -- disable --email ann@example.com');
  expect(() => read('')).toThrow(/admin -- create [\s\S]*admin -- import users.ndjson$/);
});

test('omitted options have their defaults', () => {
  const given = read('create --email a@b.co');
  expect(given).toMatchObject({
    command: 'create',
    email: 'a@b.co',
    role: 'admin',
    fields: {},
    passwordFromInput: false,
  });
  expect(read('list')).toMatchObject({ role: undefined, limit: 50 });
});

test('additional fields are texts or JSON', () => {
  const { fields } = read('create --email a@b.co --set phone=123 --set age:=30 --set tags:=["a"] --set note=a=b');
  expect(fields).toEqual({ phone: '123', age: 30, tags: ['a'], note: 'a=b' });
});
