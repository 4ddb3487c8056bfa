// Directus in its own process. The current folder is where it looks for settings and extensions.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { reportReady } from '../../processes/child.ts';
import { getPackageFolder, importPackage } from '../packages.ts';
import './without-isolated-vm.ts';

process.chdir(fileURLToPath(getPackageFolder('directus')));
const { createServer } = await importPackage<{ createServer(): Promise<Server> }>('directus', '@directus/api/server');
const server = await createServer();
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
reportReady(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
