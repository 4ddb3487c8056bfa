import { useState } from 'preact/hooks';
import { bytesText } from '../../../kit/format.tsx';
import { Icon } from '../../../kit/icons.tsx';
import { call } from '../../api.ts';
import { texts } from '../../texts.ts';
import type { FieldInfo, ResourceInfo } from '../app-info.ts';
import { fileUrl, isImage } from '../format.tsx';
import { recordsPath } from '../schema.ts';
import type { ValueProps } from './editor-props.ts';
import { detailedMessage, isStoredFile, type StoredFile } from './values.ts';

/** Uploads a file for a field. @throws RequestError */
async function upload(resource: ResourceInfo, field: FieldInfo, file: File): Promise<StoredFile> {
  const path = recordsPath(resource, 'files', field.name);
  const headers = { 'Content-Type': file.type || 'application/octet-stream' };
  const query = new URLSearchParams({ name: file.name });
  return (await call<StoredFile>(`${path}?${query}`, { method: 'POST', body: file, headers })).data;
}

/** What is known about a file, with a preview of images. */
export function FileView({ file }: { file: StoredFile }) {
  const [isBroken, setBroken] = useState(false);
  const url = file.url === undefined ? undefined : fileUrl(file.url);
  const size = file.width ? ` · ${file.width} × ${file.height}` : '';
  return (
    <div class="file">
      {isImage(file) && url && !isBroken && (
        <img
          src={url}
          alt={texts.editors.preview(file.name ?? file.id)}
          loading="lazy"
          onError={() => setBroken(true)}
        />
      )}
      <div>
        <b class="file-name">{file.name ?? file.id}</b>
        <p class="soft">
          {file.type ?? ''}
          {file.bytes !== undefined && ` · ${bytesText(file.bytes)}`}
          {size}
        </p>
        {url && (
          <a href={url} target="_blank" rel="noopener noreferrer">
            {texts.editors.open}
          </a>
        )}
      </div>
    </div>
  );
}

/** A file: what is stored, its replacement, and its removal. */
export function FileEditor({ id, field, resource, value, onChange }: ValueProps) {
  const [error, setError] = useState<string | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const choose = async (file: File | undefined) => {
    if (file === undefined || resource === undefined) return;
    setBusy(true);
    setError(undefined);
    try {
      onChange(await upload(resource, field, file));
    } catch (failure) {
      setError(detailedMessage(failure));
    }
    setBusy(false);
  };
  const accepted = field.file?.types?.filter((type) => type !== '*/*').join(',');
  return (
    <div class="file-editor">
      {isStoredFile(value) && <FileView key={value.id} file={value} />}
      <label class="upload">
        <Icon name="upload" />
        {isBusy ? texts.editors.uploading : value ? texts.editors.replaceFile : texts.editors.uploadFile}
        <input
          id={id}
          type="file"
          accept={accepted}
          disabled={isBusy}
          onChange={(event) => choose(event.currentTarget.files?.[0])}
        />
      </label>
      {error && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
