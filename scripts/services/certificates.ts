import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** The files of a certificate for localhost and 127.0.0.1, and of the private authority that issued it. */
export interface TlsFiles {
  cert: string;
  key: string;
  ca: string;
}

/** Creates a private authority, and a certificate that it issues, in a folder. Requires the command `openssl` 3. */
export function createTlsFiles(folder: string): TlsFiles {
  const [cert, key, ca, caKey] = ['cert.pem', 'key.pem', 'ca.pem', 'ca-key.pem'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ];
  const create = (...args: string[]) => {
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    const { status, stderr, error } = spawnSync(
      'openssl',
      ['req', '-x509', ...curve, '-nodes', '-days', '30', ...args],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`openssl could not create a certificate: ${error?.message ?? stderr}`);
  };
  create('-subj', '/CN=Test authority', '-keyout', caKey, '-out', ca);
  const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-addext', 'basicConstraints=CA:FALSE'];
  create('-subj', '/CN=localhost', '-CA', ca, '-CAkey', caKey, ...names, '-keyout', key, '-out', cert);
  return { cert, key, ca };
}
