// Talks to the server. Every refusal comes with findings in words, which are shown as they are.
export class Refused extends Error {
  constructor(diagnostics) {
    super(diagnostics.map((each) => (each.hint ? `${each.message} (${each.hint})` : each.message)).join("; "));
    this.diagnostics = diagnostics;
  }
}

async function answered(response) {
  if (response.ok) return response;
  const text = await response.text();
  let diagnostics = [{ message: text || `the server answered ${response.status}` }];
  try {
    const parsed = JSON.parse(text);
    if (parsed.diagnostics) diagnostics = parsed.diagnostics;
    else if (parsed.detail) diagnostics = [{ message: "the request was not understood" }];
  } catch {
    // plain text, as it is
  }
  throw new Refused(diagnostics);
}

export async function ask(path, body, signal) {
  const options = body === undefined
    ? { signal }
    : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal };
  return (await answered(await fetch(`/api/${path}`, options))).json();
}

export async function askText(path, body) {
  const options = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return (await answered(await fetch(`/api/${path}`, options))).text();
}

export async function upload(file) {
  const options = { method: "POST", headers: { "content-type": "application/octet-stream" }, body: file };
  return (await answered(await fetch(`/api/upload?name=${encodeURIComponent(file.name)}`, options))).json();
}
