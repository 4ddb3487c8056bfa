import { deviceView } from './device.js';
import { element, keepList } from './element.js';
import { follow } from './live.js';
import { request } from './requests.js';
import { sendView } from './send.js';

const byId = (id) => document.getElementById(id);
let state = { devices: [], users: [], pushes: [] };

function showUsers(users) {
  const select = byId('add').elements.user;
  const text = JSON.stringify(users);
  if (select.dataset.users === text) return;
  const { value } = select;
  select.replaceChildren(...users.map(({ id, label }) => element('option', { value: id }, label)));
  if (users.some(({ id }) => id === value)) select.value = value;
  select.dataset.users = text;
}

/** Enables the submit button of a form, or shows what is missing. */
function offer(form, isPossible) {
  byId(form).querySelector('button').disabled = !isPossible;
  byId(`${form}-missing`).hidden = isPossible;
}

function show(next) {
  state = next;
  keepList(byId('devices'), state.devices, deviceView);
  keepList(byId('sends'), state.pushes, sendView);
  const { length } = state.devices;
  byId('no-devices').hidden = length > 0;
  byId('no-sends').hidden = state.pushes.length > 0;
  byId('send-title').textContent = length > 1 ? `Send to all ${length} devices` : 'Send a notification';
  offer('send', length > 0);
  offer('add', state.users.length > 0);
  showUsers(state.users);
}

function showConnection(connected) {
  const status = byId('connection');
  status.textContent = connected ? 'Live' : 'No connection; trying again…';
  status.className = connected ? 'live' : 'lost';
}

/** Returns the fields that are filled in. */
function filled(form) {
  const entries = [...new FormData(form)].filter(([, value]) => value !== '');
  return Object.fromEntries(entries.map(([name, value]) => [name, name === 'badge' ? Number(value) : value]));
}

byId('add').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (await request('POST', 'devices', filled(event.target))) event.target.elements.name.value = '';
});
byId('send').addEventListener('submit', (event) => {
  event.preventDefault();
  const deviceIds = state.devices.map(({ id }) => id);
  request('POST', 'sends', { deviceIds, content: filled(event.target) });
});
follow(show, showConnection);
