from cepheus.core.errors import *
from cepheus.language.tesla.scan import span_of
def explain(source, tokens, error):
    return Diagnostic("syntax", f"found {error.token!r} {error.accepts}", span_of(source,error.token))
