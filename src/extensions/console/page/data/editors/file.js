import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { Icon } from '../../components/icons.js';
import { bytesText, fileUrl, isImage } from '../format.js';
import { recordsPath } from '../schema.js';

/** Uploads a file for a field. @throws RequestError */
async function upload(resource, field, file) {
  const path = recordsPath(resource, 'files', field.name);
  const headers = { 'Content-Type': file.type || 'application/octet-stream' };
  return (await call(`${path}?${new URLSearchParams({ name: file.name })}`, { method: 'POST', body: file, headers }))
    .data;
}

/** What is known about a file, with a preview of images. */
export function FileView({ file }) {
  const [isBroken, setBroken] = useState(false);
  const url = typeof file.url === 'string' ? fileUrl(file.url) : undefined;
  const size = file.width ? ` · ${file.width} × ${file.height}` : '';
  return html`<div class="file">
    ${
      isImage(file) &&
      url &&
      !isBroken &&
      html`<img src=${url} alt=${`Preview of ${file.name}`} loading="lazy" onError=${() => setBroken(true)} />`
    }
    <div>
      <b class="file-name">${file.name ?? file.id}</b>
      <p class="soft">${file.type ?? ''}${file.bytes !== undefined && ` · ${bytesText(file.bytes)}`}${size}</p>
      ${url && html`<a href=${url} target="_blank" rel="noopener noreferrer">Open</a>`}
    </div>
  </div>`;
}

/** A file: what is stored, its replacement, and its removal. */
export function FileEditor({ id, field, resource, value, onChange }) {
  const [error, setError] = useState(undefined);
  const [isBusy, setBusy] = useState(false);
  const choose = async ({ target }) => {
    const [file] = target.files;
    if (file === undefined) return;
    setBusy(true);
    setError(undefined);
    try {
      onChange(await upload(resource, field, file));
    } catch (failure) {
      setError([failure.message, ...Object.values(failure.details)].join(' · '));
    }
    setBusy(false);
  };
  const accepted = field.file?.types?.filter((type) => type !== '*/*').join(',');
  return html`<div class="file-editor">
    ${value && html`<${FileView} key=${value.id} file=${value} />`}
    <label class="upload">
      <${Icon} name="upload" />${isBusy ? 'Uploading…' : value ? 'Replace the file' : 'Upload a file'}
      <input id=${id} type="file" accept=${accepted} disabled=${isBusy} onChange=${choose} />
    </label>
    ${error && html`<p class="field-error" role="alert">${error}</p>`}
  </div>`;
}
