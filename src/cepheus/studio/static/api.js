// Talks to the server. Every refusal comes with findings in words, which are shown as they are.
export class Refused extends Error {
  constructor(diagnostics) {
    super(diagnostics.map((each) => (each.hint ? `${each.message} (${each.hint})` : each.message)).join("; "));
    this.diagnostics = diagnostics;
  }
}

async function fetched(path, options) {
  const response = await fetch(`/api/${path}`, options).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Refused([{ message: "the studio does not answer", hint: "start cepheus studio again, with the same --port and CEPHEUS_STUDIO_TOKEN, or open the address that it prints" }]);
  });
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
  return (await fetched(path, options)).json();
}

export async function askText(path, body) {
  const options = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return (await fetched(path, options)).text();
}

export async function upload(file) {
  const options = { method: "POST", headers: { "content-type": "application/octet-stream" }, body: file };
  return (await fetched(`upload?name=${encodeURIComponent(file.name)}`, options)).json();
}
