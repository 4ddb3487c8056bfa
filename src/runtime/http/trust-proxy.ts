/**
 * `TRUST_PROXY` in the forms that express takes: `true`, `false`, a number of hops, or a comma list of addresses, subnets and
 * the names loopback, linklocal, uniquelocal (https://expressjs.com/en/guide/behind-proxies.html).
 */
export function trustProxy(text: string | undefined): boolean | number | string {
  if (text === undefined || text === 'false') return false;
  if (text === 'true') return true;
  return /^\d+$/.test(text) ? Number(text) : text;
}
